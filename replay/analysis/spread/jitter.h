// Jitter: the same settings on variants of a trace (traces/model/varied_trace.h): sizes as in
// another batch, order within what streams leave open. A ranking that jitter reverses was luck.
//
// Spread asks what one program may need when it is run again; jitter asks about programs like it.
// Deterministic for every number of threads.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/spread/spread.h"

namespace tidemark {

// One setting's peaks over the variants.
struct JitteredPeaks {
    PeakSpread peak = {};
    unsigned lowest = 0;       // the number in which no other setting peaked lower
    SavingSpread saving = {};  // against the first setting, variant by variant
    unsigned refused = 0;  // variants in which a request ran out of memory; those can't be lowest
};

// For finished runs of `trace` on simulated devices, under their scenarios: one result each; none
// on real hardware. `variants` above 0. O(runs * variants * events). Errors: those of run_trial.
Result<std::vector<JitteredPeaks>> jitter_runs(const Trace& trace, std::span<const Run> runs,
                                               unsigned variants, unsigned threads = 0);

}  // namespace tidemark
