// The searches. Survival need not be monotone in memory (other flushes make other layouts), so
// every answer is a size at which a replay survived, with no size above it that was tested and
// failed.
#include "replay/analysis/fit/fit_search.h"

#include <algorithm>
#include <utility>

#include "backends/sim/sim_device.h"
#include "replay/record/explained_record.h"

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
      overhead_(align_up(question.overhead.value_or(0), profile.granularity)) {}

Result<TrialResult> FitSearch::replay(Bytes memory, Bytes limit, std::optional<Goal> goal) {
    if (question_.stop && question_.stop())
        return fail(ErrorCode::cancelled, "interrupted", "fit");
    const TrialSetup setup{.policy = policy_,
                           .profile = &profile_,
                           .memory = memory,
                           .overhead = memory == 0 ? 0 : overhead_,
                           .limit = limit,
                           .simulated = true,
                           .stop_at_refusal = goal.has_value(),
                           .stop_at_probe = goal == Goal::granted_all,
                           .time_flushes = true};
    Result<TrialResult> result = run_trial(trace_, setup);
    ++replays_;
    replayed_();
    return result;
}

bool FitSearch::meets(const TrialResult& result, Goal goal) {
    return goal == Goal::granted_all ? result.granted_all() : result.no_worse_than_recorded();
}

Result<FitRow> FitSearch::run(const PolicySpec& policy) {
    policy_ = policy;
    const ExplainedRecord* const record = explained_record(trace_);
    const bool is_recorded = record != nullptr && record->is_replay(policy, nullptr);
    const RecordedDevice* const limited = is_recorded ? limited_device(trace_) : nullptr;
    died_within_ = limited != nullptr && limited->refusals > 0 ? limited->limit : 0;
    replays_ = 0;
    FitRow row;
    row.policy = policy.text();
    TM_ASSIGN(row.unlimited, replay(0, 0, std::nullopt));
    TM_TRY(answer(row));
    if (row.unlimited.granted_all()) {
        TM_ASSIGN(const Sizes sizes, find_smallest(row, Goal::granted_all));
        row.smallest_memory = sizes.memory;
        row.smallest_limit = sizes.limit;
    }
    const bool has_probes = row.unlimited.probes_granted + row.unlimited.refused_again > 0;
    Sizes sizes{row.smallest_memory, row.smallest_limit};
    if (has_probes && row.unlimited.no_worse_than_recorded()) {
        TM_ASSIGN(sizes, find_smallest(row, Goal::no_worse));
    }
    row.smallest_memory_no_worse = sizes.memory;
    row.smallest_limit_no_worse = sizes.limit;
    row.replays = replays_;
    return row;
}

// Under the memory in question: whether it survives, or where it ends.
Result<void> FitSearch::answer(FitRow& row) {
    TrialResult requested = row.unlimited;
    const Bytes limit = question_.limit.value_or(0);
    if (recorded_died()) {
        TM_ASSIGN(requested, run_trial(trace_, {.policy = policy_, .profile = &profile_}));
        ++replays_;
    } else if (question_.memory > 0 || limit > 0) {
        TM_ASSIGN(requested, replay(question_.memory, limit, std::nullopt));
    }
    row.requested = requested;
    row.survives = requested.granted_all();
    row.no_worse = requested.no_worse_than_recorded();
    row.out_of_memory = requested.refusals();
    row.costs = costs_of(requested);
    if (row.survives)
        return {};
    std::optional<Refusal> first = requested.first_probe;
    if (requested.first_refusal && (!first || requested.first_refusal->event < first->event))
        first = requested.first_refusal;
    row.died_at = Death{*first, {}, requested.refusals()};
    return {};
}

// Less than what is live at once is never enough. Pending frees don't count: where memory is short
// the program waits for them. What each of d devices needs is between a d-th of the sum and the
// sum. Where there is room, blocks are larger because less is split off them.
Bytes FitSearch::least_of(const FitRow& row, Goal goal) const {
    const Bytes lives = std::min(row.unlimited.peak_requested, row.unlimited.peak.allocated / 2);
    const Bytes least = lives / std::max<Bytes>(trace_.info().devices.size(), 1);
    return goal == Goal::granted_all ? std::max(least, died_within_ + (died_within_ > 0 ? 1 : 0))
                                     : least;
}

// The memory in question is not more than the recorded run had when it ran out of memory.
bool FitSearch::recorded_died() const {
    const Bytes limit = question_.limit.value_or(0);
    const Bytes room = question_.memory > 0 ? question_.memory - overhead_ : limit;
    return died_within_ > 0 && room > 0 && room <= died_within_;
}

Result<FitSearch::Sizes> FitSearch::find_smallest(FitRow& row, Goal goal) {
    Sizes sizes;
    TM_ASSIGN(sizes.memory, find_smallest_memory(row, goal));
    TM_ASSIGN(sizes.limit, find_smallest_limit(row, goal, sizes.memory));
    return sizes;
}

Result<Bytes> FitSearch::find_smallest_memory(FitRow& row, Goal goal) {
    const auto survives = [&](Bytes size) -> Result<bool> {
        TM_ASSIGN(const TrialResult result, replay(size + overhead_, 0, goal));
        const bool enough = meets(result, goal);
        if (enough && goal == Goal::granted_all)
            row.at_smallest = costs_of(result);
        return enough;
    };
    TM_ASSIGN(const Bytes found,
              smallest({least_of(row, goal), row.unlimited.peak.reserved}, survives));
    return found == 0 ? 0 : found + overhead_;
}

// Mostly the same as what the card needs. Policies without limits of their own leave the limit to
// the device, which then is a smaller card.
Result<Bytes> FitSearch::find_smallest_limit(const FitRow& row, Goal goal, Bytes memory) {
    if (memory == 0 || has_own_limit(policy_))
        return Bytes{0};
    const Bytes guess = memory - overhead_;
    if (!policy_.keeps_limit())
        return guess;
    const auto survives = [&](Bytes size) -> Result<bool> {
        TM_ASSIGN(const TrialResult result, replay(0, size, goal));
        return meets(result, goal);
    };
    TM_ASSIGN(const bool enough, survives(guess));
    Bytes least = least_of(row, goal);
    if (!enough)
        return smallest({guess + 1, row.unlimited.peak.reserved}, survives);
    Bytes most = guess;  // survives; go down in growing steps until one fails
    for (Bytes step = kStep; most > align_up(least, kStep); step *= 2) {
        const Bytes lower = most - std::min(step, most - align_up(least, kStep));
        TM_ASSIGN(const bool also, survives(lower));
        if (!also) {
            least = lower + 1;
            break;
        }
        most = lower;
    }
    return smallest({least, most, true}, survives);
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
