// What advise may say of settings whose peaks differ from run to run: a saving counts only if at
// least 19 of 20 runs show it.
#pragma once

#include "replay/analysis/advise/advise.h"
#include "replay/analysis/spread/spread.h"

namespace tidemark {

// Gives every setting of `advice.search` its range of peaks, drops advice that the ranges do not
// bear out, and says so in `advice.spread_verdict`. Settings that let more requests succeed stay
// whatever they save. Does nothing where the trace has no spread. O(settings * runs * events).
// Errors: those of run_trial.
Result<void> spread_advice(const Trace& trace, const TrialSetup& base, const SpreadOptions& options,
                           Advice& advice);

}  // namespace tidemark
