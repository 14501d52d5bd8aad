// pool_plans: one pass that follows the slots of pools.
#include "replay/scenario/pool_plans.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>

namespace tidemark {
namespace {

constexpr std::uint32_t kUntilTheEnd = std::numeric_limits<std::uint32_t>::max();

class Reading {
  public:
    explicit Reading(PlanScope scope) : everything_(scope == PlanScope::everything) {}

    void see(const EventBatch& batch, std::size_t i) {
        const PoolId pool = everything_ ? PoolId::default_pool : PoolId{batch.aux[i]};
        switch (batch.kind[i]) {
            case EventKind::allocate:
                end(batch.slot[i]);
                if ((everything_ || pool != PoolId::default_pool) &&
                    (batch.flags[i] & kTierMask) == 0)
                    begin(batch, i, pool);
                return;
            case EventKind::free:
            case EventKind::finish:
                return end(batch.slot[i]);
            case EventKind::record_use:
                return use(batch.slot[i], batch.stream[i]);
            case EventKind::pool_begin:
                ++pools_[{batch.device[i], pool}].scopes;
                return;
            case EventKind::pool_end:
                close_scope(pools_[{batch.device[i], pool}]);
                return;
            default:
                return;
        }
    }

    PoolPlans take() {
        PoolPlans plans;
        for (auto& [key, pool] : pools_) {
            for (PlannedAllocation& one : pool.requests) {
                if (one.end >= pool.over)
                    one.escapes = true;
            }
            if (!pool.requests.empty())
                plans.emplace(key, std::move(pool.requests));
        }
        return plans;
    }

  private:
    struct Pool {
        std::vector<PlannedAllocation> requests;
        std::uint32_t position = 0;
        std::uint32_t over = 0;  // nothing belongs to the graph from here on, as far as is known
        std::uint32_t scopes = 0;
    };

    struct Live {
        Pool* pool = nullptr;
        std::size_t request = 0;
    };

    void begin(const EventBatch& batch, std::size_t i, PoolId id) {
        Pool& pool = pools_[{batch.device[i], id}];
        if (pool.position == kUntilTheEnd - 1 || batch.slot[i] == kNoSlot)
            return;
        live_[batch.slot[i]] = {&pool, pool.requests.size()};
        pool.requests.push_back({.size = batch.size[i],
                                 .begin = pool.position++,
                                 .end = kUntilTheEnd,
                                 .stream = batch.stream[i]});
        pool.over = pool.position;
    }

    void end(std::uint32_t slot) {
        const auto found = live_.find(slot);
        if (found == live_.end())
            return;
        Pool& pool = *found->second.pool;
        pool.requests[found->second.request].end = pool.position;
        if (pool.position < kUntilTheEnd - 1)
            ++pool.position;
        if (pool.scopes > 0)
            pool.over = pool.position;
        live_.erase(found);
    }

    void use(std::uint32_t slot, StreamId stream) {
        const auto found = live_.find(slot);
        if (found == live_.end())
            return;
        PlannedAllocation& one = found->second.pool->requests[found->second.request];
        one.escapes |= one.stream != stream;
    }

    static void close_scope(Pool& pool) {
        if (pool.scopes > 0)
            --pool.scopes;
    }

    bool everything_;
    std::map<std::pair<std::uint16_t, PoolId>, Pool> pools_;
    std::unordered_map<std::uint32_t, Live> live_;  // by slot
};

}  // namespace

Result<PoolPlans> pool_plans(const Trace& trace, PlanScope scope) {
    if (scope == PlanScope::nothing)
        return PoolPlans{};
    Reading reading(scope);
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    while (true) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return reading.take();
        for (std::size_t i = 0; i < batch.count; ++i)
            reading.see(batch, i);
    }
}

Result<void> plan_pools(const Trace& trace, PlanScope scope,
                        std::span<const DeviceContext> contexts) {
    TM_ASSIGN(const PoolPlans plans, pool_plans(trace, scope));
    for (const auto& [key, requests] : plans) {
        const std::size_t device = std::min<std::size_t>(key.first, contexts.size() - 1);
        contexts[device].allocator->plan_pool(key.second, requests);
    }
    return {};
}

}  // namespace tidemark
