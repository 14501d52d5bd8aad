// The searches. Survival need not be monotone in memory (other flushes make other layouts), so
// every answer is a size at which a replay survived, with no size above it that was tried and died.
#include "replay/analysis/fit_search.h"

#include <algorithm>
#include <utility>

#include "backends/sim/sim_device.h"

namespace tidemark {
namespace {

constexpr Bytes kStep = kFitResolution;

FitCosts costs_of(const TrialResult& result) {
    return {.retries = result.stats.retries,
            .flush_time = result.flush_time,
            .driver_time = result.driver_time,
            .stall_time = result.stall_time};
}

bool has_own_limit(const PolicySpec& policy) {
    return policy.keeps_limit() && !policy.options.is_default("limit");
}

}  // namespace

FitSearch::FitSearch(const Trace& trace, const FitQuestion& question, const CostProfile& profile,
                     std::function<void()> replayed)
    : trace_(trace),
      question_(question),
      profile_(profile),
      replayed_(std::move(replayed)),
      overhead_(align_up(question.overhead, profile.granularity)) {}

Result<TrialResult> FitSearch::replay(Bytes memory, Bytes limit, bool to_the_end) {
    const TrialSetup setup{.policy = policy_,
                           .profile = &profile_,
                           .memory = memory,
                           .overhead = memory == 0 ? 0 : overhead_,
                           .limit = limit,
                           .stop_at_refusal = !to_the_end,
                           .time_flushes = !to_the_end};
    Result<TrialResult> result = run_trial(trace_, setup);
    ++replays_;
    replayed_();
    return result;
}

Result<FitRow> FitSearch::run(const PolicySpec& policy) {
    policy_ = policy;
    replays_ = 0;
    FitRow row;
    row.policy = policy.text();
    TM_ASSIGN(row.unlimited, replay(0, 0));
    TM_TRY(answer(row));
    if (row.unlimited.survived()) {
        TM_TRY(find_smallest_memory(row));
        TM_TRY(find_smallest_limit(row));
    }
    row.replays = replays_;
    return row;
}

// What was asked: yes, or where it dies.
Result<void> FitSearch::answer(FitRow& row) {
    TrialResult asked = row.unlimited;
    if (question_.memory > 0 || question_.limit > 0) {
        TM_ASSIGN(asked, replay(question_.memory, question_.limit));
    }
    row.survives = asked.survived();
    row.costs = costs_of(asked);
    if (row.survives)
        return {};
    TM_ASSIGN(const TrialResult whole, replay(question_.memory, question_.limit, true));
    row.died_at = Death{*asked.first_refusal, {}, whole.refused};
    return {};
}

Result<void> FitSearch::find_smallest_memory(FitRow& row) {
    // What each of d devices needs lies between a d-th of the sum and the sum.
    const Bytes devices = std::max<Bytes>(trace_.info().devices.size(), 1);
    const auto survives = [&](Bytes size) -> Result<bool> {
        TM_ASSIGN(const TrialResult result, replay(size + overhead_, 0));
        if (result.survived())
            row.at_smallest = costs_of(result);
        return result.survived();
    };
    TM_ASSIGN(
        const Bytes found,
        smallest({row.unlimited.peak_requested / devices, row.unlimited.peak.reserved}, survives));
    row.smallest_memory = found == 0 ? 0 : found + overhead_;
    return {};
}

// Mostly the same as what the card needs. Policies without limits of their own leave the limit to
// the device, which then is a smaller card.
Result<void> FitSearch::find_smallest_limit(FitRow& row) {
    if (row.smallest_memory == 0 || has_own_limit(policy_))
        return {};
    const Bytes guess = row.smallest_memory - overhead_;
    if (!policy_.keeps_limit()) {
        row.smallest_limit = guess;
        return {};
    }
    const auto survives = [&](Bytes size) -> Result<bool> {
        TM_ASSIGN(const TrialResult result, replay(0, size));
        return result.survived();
    };
    TM_ASSIGN(const bool enough, survives(guess));
    Bytes least = row.unlimited.peak_requested / std::max<Bytes>(trace_.info().devices.size(), 1);
    if (!enough) {
        TM_ASSIGN(row.smallest_limit, smallest({guess + 1, row.unlimited.peak.reserved}, survives));
        return {};
    }
    Bytes most = guess;  // survives; go down in growing steps until one dies
    for (Bytes step = kStep; most > align_up(least, kStep); step *= 2) {
        const Bytes lower = most - std::min(step, most - align_up(least, kStep));
        TM_ASSIGN(const bool also, survives(lower));
        if (!also) {
            least = lower + 1;
            break;
        }
        most = lower;
    }
    TM_ASSIGN(row.smallest_limit, smallest({least, most, true}, survives));
    return {};
}

Result<Bytes> FitSearch::smallest(Bounds bounds,
                                  const std::function<Result<bool>(Bytes size)>& survives) {
    Bytes low = align_up(std::max<Bytes>(bounds.least, 1), kStep);
    Bytes high = std::max(align_up(bounds.most, kStep), low);
    for (;;) {
        while (low < high) {
            const Bytes middle = low + (high - low) / kStep / 2 * kStep;
            TM_ASSIGN(const bool enough, survives(middle));
            bounds.known = bounds.known || enough;
            if (enough)
                high = middle;
            else
                low = middle + kStep;
        }
        if (!bounds.known) {
            TM_ASSIGN(bounds.known, survives(high));
        }
        if (bounds.known)
            return high;
        // Too low: the policy keeps something back.
        if (high > SimDevice::kLargestCapacity / 4)
            return Bytes{0};
        low = high + kStep;
        high *= 2;
    }
}

}  // namespace tidemark
