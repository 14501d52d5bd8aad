// The pool with and without the peak that a recording lets it expect.
#include "replay/analysis/advise/drop_in.h"

#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr std::string_view kPolicy = "extent";

}  // namespace

bool is_drop_in(const Tried& tried) {
    return tried.policy.policy->name == kPolicy && !tried.line.empty();
}

Result<Tried> try_drop_in(const Trace& trace, const SearchSetup& setup, const TrialResult& plain) {
    TM_ASSIGN(PolicySpec policy, parse_policy(kPolicy));
    Tried as_it_is{.choice = {}, .policy = std::move(policy), .result = plain};
    if (plain.device_peaks.size() > 1)
        return as_it_is;
    TrialSetup trial = setup.base;
    const Bytes peak = align_up(plain.peak.active, 1_MiB) / 1_MiB;
    TM_ASSIGN(trial.policy, parse_policy(fmt::format("{}:expect={}MiB", kPolicy, peak)));
    TM_ASSIGN(TrialResult result, run_trial(trace, trial));
    Tried expecting{.choice = {}, .policy = trial.policy, .result = std::move(result)};
    return is_improvement(expecting, as_it_is, setup.timed) ? expecting : as_it_is;
}

}  // namespace tidemark
