// A sweep's answer: which settings are best over all traces, and which units are missing. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replay/analysis/sweep/sweep.h"
#include "replay/report/forms/model.h"
#include "replay/report/sweep/unit_line.h"

namespace tidemark {

// A finished unit, as a row.
struct SweptUnit {
    std::string name = {};
    std::string trace = {};  // its name in reports
    std::size_t trace_index = 0;
    std::size_t setting = 0;
    UnitResult result = {};
};

struct SweepReport {
    std::string folder;
    std::vector<SweepSetting> settings;
    std::vector<TierSetting> tiers;    // instead of `settings`, of a sweep over tiers
    std::vector<SettingScore> scores;  // best first
    std::vector<SweptUnit> units;      // finished ones, in the sweep's order
    std::size_t planned = 0;           // units of the whole sweep; halving: those tried
    std::size_t computed = 0;          // by this command
    std::size_t missing = 0;           // of other shards, or left by an interruption
    bool interrupted = false;
};

// At most `top` settings, 0 = all.
std::string sweep_text(const SweepReport& report, std::size_t top);
std::string sweep_json(const SweepReport& report, const Provenance& provenance);

}  // namespace tidemark
