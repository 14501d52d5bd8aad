// Spread: how far a program's peak differs from run to run, as far as it uses several streams.
//
// Such a program reserves more or less depending on when the device finishes, which no run repeats.
// So a setting is replayed many times, each time as another run of the recorded program might go
// (see replay/record/completion_sampler.h), with memory where it might be then (LateHole of
// backends/sim/driver_placement.h), and the result is a range. The same seeds are used for every
// setting: differences between settings are taken run by run.
//
// A trace in which no free waits has no spread: replays of it are exact, and nothing here costs
// time. Deterministic for every number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "replay/scenario/peak_spread.h"
#include "replay/scenario/scenario.h"
#include "replay/scenario/trial.h"

namespace tidemark {

// The peaks of one setting, a replay each, in the order of seeds; equal indexes are comparable.
using SampledPeaks = std::vector<Bytes>;

// At least one.
PeakSpread spread_of(SampledPeaks peaks);

// The same around `as_recorded`, the peak with completions as recorded: that run was one that
// happened, so the range reaches to it.
PeakSpread spread_around(Bytes as_recorded, SampledPeaks peaks);

// What `after` saves of `before`, as a share of it, run by run: the median, and the range of 90 %
// of the runs. Negative: it needs more.
struct SavingSpread {
    double p5 = 0;
    double p50 = 0;
    double p95 = 0;
};

SavingSpread saving_of(const SampledPeaks& before, const SampledPeaks& after);

// The default number of replays of each setting for a trace of so many events: as many as take
// about a second for each setting, within bounds; 0 for a trace that is too long for the least.
unsigned usual_spread_runs(std::uint64_t events);

struct SpreadOptions {
    std::optional<unsigned> runs = {};  // of each setting; none = as usual; 0 = no spread
    unsigned threads = 0;               // 0 = one for each core
};

struct SampledRun {
    Bytes peak_reserved = 0;
    std::uint64_t out_of_memory = 0;
};

SampledPeaks peaks_of(std::span<const SampledRun> runs);

// For each of `setups` its sampled replays; empty if the trace has no spread or none was requested.
// O(setups * runs * events). Errors: those of run_trial.
Result<std::vector<std::vector<SampledRun>>> sample_runs(const Trace& trace,
                                                         std::span<const TrialSetup> setups,
                                                         const SpreadOptions& options = {});

// For each of `setups` the peaks of its sampled replays; empty if the trace has no spread or none
// was requested. O(setups * runs * events). Errors: those of run_trial.
Result<std::vector<SampledPeaks>> sample_peaks(const Trace& trace,
                                               std::span<const TrialSetup> setups,
                                               const SpreadOptions& options = {});

// What would repeat finished runs on simulated devices, under their scenarios; their limits are
// written out, for a trace that is no longer the recorded one. Errors: bad_option.
Result<std::vector<TrialSetup>> setups_of(std::span<const Run> runs, const CostProfile& profile);

// The same for finished runs of `trace` on simulated devices, under their scenarios: gives each its
// Run::peak_spread. On real hardware: none.
Result<std::vector<SampledPeaks>> spread_runs(const Trace& trace, std::span<Run> runs,
                                              const SpreadOptions& options);

}  // namespace tidemark
