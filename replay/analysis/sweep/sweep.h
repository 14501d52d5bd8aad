// sweep: many settings on many traces, on all cores of this machine, a unit at a time
// (replay/analysis/sweep/unit.h). The caller keeps the results; only what is being replayed is held
// here, so a sweep may have any number of units.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/sweep/unit.h"
#include "replay/scenario/scenario.h"

namespace tidemark {

struct SweepOptions {
    unsigned threads = 0;  // 0 = one for each core
    // Asked before each unit, by any thread; once true none is started any more. May be empty.
    std::function<bool()> stop = {};
};

// Replays `trace` under each of `settings`, as threads get free, and gives each result to `keep` as
// soon as it is there, never to two threads at once: a run, or bad_option if the policy cannot be
// created this way on that machine, which is a result too. Errors: other errors of a replay, and
// those of `keep`, after which none is started. O(settings * events).
Result<void> run_settings(
    const Trace& trace, std::span<const SweepSetting> settings,
    const std::function<Result<void>(std::size_t setting, const Result<Run>& result)>& keep,
    const SweepOptions& options = {});

// The figures of one unit that rank its setting.
struct UnitFigures {
    std::size_t setting = 0;
    double ratio = 0;      // peak reserved / peak requested; over tiers the slowdown
    Nanoseconds time = 0;  // of the driver; over tiers what streams were stalled
    std::uint64_t out_of_memory = 0;
    bool failed = false;  // no such policy on that machine
};

// One setting over its traces.
struct SettingScore {
    std::size_t setting = 0;
    std::size_t traces = 0;
    double ratio = 0;                 // geometric mean
    Nanoseconds time = 0;             // sum
    std::uint64_t out_of_memory = 0;  // sum
    std::size_t failed = 0;           // traces
};

// Settings that have units, best first: fewest failed, fewest requests out of memory, lowest ratio,
// least time, first given. O(units log units).
std::vector<SettingScore> rank_settings(std::span<const UnitFigures> units);

// Successive halving (K. Jamieson, A. Talwalkar, AISTATS 2016), a trace being the unit of work: all
// settings on the first trace, the better half of them on the first two, of these the better half
// on four, and so on, until the rest has seen all. So for 64 settings on 64 traces, 448 units are
// replayed instead of 4096.
struct Rung {
    std::size_t settings = 0;  // how many are left
    std::size_t traces = 0;    // on so many of the first
};

std::vector<Rung> halving_rungs(std::size_t settings, std::size_t traces);

}  // namespace tidemark
