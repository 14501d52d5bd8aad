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

std::string drop_in_name(const PolicySpec& policy) {
    return with_options(policy.policy->name, policy.options);
}

Result<Tried> try_drop_in(const Trace& trace, const SearchSetup& setup, const TrialResult& plain) {
    const bool has_pools = trace.info().pools.size() > 1;
    const std::string_view pools = has_pools ? "private_pools=torch" : "";
    TrialSetup trial = setup.base;
    TM_ASSIGN(trial.policy, parse_policy(fmt::format("{}:{}", kPolicy, pools)));
    Tried as_it_is{.choice = {}, .policy = trial.policy, .result = plain};
    if (has_pools) {
        TM_ASSIGN(as_it_is.result, run_trial(trace, trial));
    }
    if (plain.device_peaks.size() > 1)
        return as_it_is;
    // What is in private pools isn't this pool's to expect: an upper bound.
    const Bytes peak = align_up(plain.peak.active, 1_MiB) / 1_MiB;
    TM_ASSIGN(trial.policy, parse_policy(fmt::format("{}:expect={}MiB{}{}", kPolicy, peak,
                                                     has_pools ? "," : "", pools)));
    TM_ASSIGN(TrialResult result, run_trial(trace, trial));
    Tried expecting{.choice = {}, .policy = trial.policy, .result = std::move(result)};
    return is_improvement(expecting, as_it_is, setup.timed) ? expecting : as_it_is;
}

}  // namespace tidemark
