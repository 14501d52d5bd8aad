// What may have happened around a request: every possibility, the one that is taken, and, the
// second time, the one that was.
#include <algorithm>

#include "core/base/check.h"
#include "replay/record/device_replay.h"

namespace tidemark {
namespace {

// The most ways to share out completions between the begin of a request and its retry that are
// tried.
constexpr std::size_t kMostShares = 24;

// A replay with so many differences has lost its way: then the first explanation will do.
constexpr std::uint64_t kHopeless = 300;

}  // namespace

// Every way in which a request, or releases without one, may have come about; likelier ones first.
std::vector<DeviceReplay::Explanation> DeviceReplay::explanations(const TraceEvent* request) {
    std::vector<PoolId> pools{PoolId::default_pool};
    if (request != nullptr)
        pools = request->kind == EventKind::allocate ? std::vector<PoolId>{pool_of(*request)}
                                                     : pools_of_refusal(*request);

    struct Trim {
        bool pool_ended;
        bool emptied;
    };

    std::vector<Trim> trims;
    if (request != nullptr)
        trims.push_back({false, false});
    if (releases_) {
        trims.push_back({false, true});
        if (!ended_pools().empty()) {
            trims.push_back({true, false});
            trims.push_back({true, true});
        }
    }
    if (trims.empty())
        trims.push_back({false, false});  // new memory that nobody asked for
    const std::size_t all = completions_.size();
    const std::size_t fewest = request == nullptr ? all : all - std::min(all, kMostShares);
    std::vector<Explanation> ways;
    for (const Trim trim : trims) {
        for (std::size_t k = all + 1; k-- > fewest;) {
            for (const PoolId pool : pools) {
                for (const bool switched : possible_switches()) {
                    ways.push_back(
                        {k, trim.pool_ended, trim.emptied, false, false, switched, pool});
                }
            }
        }
    }
    if (request == nullptr)
        return ways;
    if (request->kind == EventKind::out_of_memory)
        ways.push_back({all, false, false, true, false, model_.switched, PoolId::default_pool});
    // A refusal says how much the device had left.
    if (request->kind == EventKind::out_of_memory && request->address >= request->size)
        return ways;
    for (std::size_t k = all + 1; k-- > fewest;) {
        for (const PoolId pool : pools)
            ways.push_back({k, false, false, false, true, model_.switched, pool});
    }
    return ways;
}

// New memory shows how expandable_segments stands; otherwise it is more likely as it was.
std::vector<bool> DeviceReplay::possible_switches() const {
    if (!setup_.infers_switches)
        return {model_.switched};
    const bool starts_on = spec_->policy.options.boolean("expandable_segments");
    for (const std::size_t step : segments_) {
        if (!is_release(event(step).kind))
            return {(event(step).kind == EventKind::segment_map) != starts_on};
    }
    return {model_.switched, !model_.switched};
}

// A refusal has no address. Between two requests for one private pool it is likely to be for that.
std::vector<PoolId> DeviceReplay::pools_of_refusal(const TraceEvent& refusal) const {
    std::vector<PoolId> pools{PoolId{refusal.aux}};
    if (!setup_.infers_pools)
        return pools;
    if (last_pool_ != PoolId::default_pool && next_pool() == last_pool_)
        pools.insert(pools.begin(), last_pool_);
    for (const auto& [begin, held] : held_) {
        if (std::find(pools.begin(), pools.end(), held.pool) == pools.end())
            pools.push_back(held.pool);
    }
    pools.push_back(kForeignScope);
    return pools;
}

// What was adopted at this step when the record was gone through for the first time.
const DeviceReplay::Explanation* DeviceReplay::adopted_here() {
    while (next_adopted_ < script_.size() && script_[next_adopted_].step < position_)
        ++next_adopted_;
    const bool here = next_adopted_ < script_.size() && script_[next_adopted_].step == position_;
    return here ? &script_[next_adopted_].how : nullptr;
}

DeviceReplay::Attempt DeviceReplay::chosen_attempt(const TraceEvent* request) {
    if (!follows_) {
        Attempt best = best_attempt(request);
        note(best.explanation);
        return best;
    }
    const Explanation* const how = adopted_here();
    TM_CHECK(how != nullptr);
    return attempt(std::move(model_), *how, request);
}

DeviceReplay::Attempt DeviceReplay::best_attempt(const TraceEvent* request) {
    std::optional<Attempt> best;
    for (const Explanation& way : explanations(request)) {
        ++copies_;
        Attempt next = attempt(model_.copy(), way, request);
        if (!best || next.differences < best->differences)
            best = std::move(next);
        if (best->differences == 0 || findings_.mismatches > kHopeless)
            break;
    }
    TM_CHECK(best.has_value());
    return std::move(*best);
}

// Would the other way of expandable_segments give the record too, and leave another state?
void DeviceReplay::fork(const Attempt& taken, const TraceEvent& request) {
    if (request.kind != EventKind::allocate || request.size <= 1_MiB || !taken.granted->has_value())
        return;
    Explanation how = taken.explanation;
    how.switched = !how.switched;
    Attempt other = attempt(model_.copy(), how, &request);
    if (other.differences != 0 || (*other.granted)->size == (*taken.granted)->size)
        return;
    fork_choice_ = choice_about((*taken.granted)->address);
    auto twin = std::make_unique<DeviceReplay>(copy());
    twin->findings_.adopted.back().how = other.explanation;
    twin->adopt(std::move(other), &request);
    ++twin->position_;
    fork_ = std::move(twin);
}

}  // namespace tidemark
