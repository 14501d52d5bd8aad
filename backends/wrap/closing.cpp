// Remembering what is live, and freeing it.
#include "backends/wrap/closing.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tidemark {

tl::expected<Allocation, OutOfMemory> ClosingAllocator::allocate(const Request& request) {
    const auto allocation = WrappedAllocator::allocate(request);
    if (!allocation)
        return allocation;
    live_.insert_or_assign(to_integer(allocation->address),
                           Live{*allocation, request.stream, ++grants_});
    if (request.pool != PoolId::default_pool)
        pools_.try_emplace(request.pool, 0);
    return allocation;
}

void ClosingAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    live_.erase(to_integer(allocation.address));
    WrappedAllocator::deallocate(allocation, stream);
}

void ClosingAllocator::begin_pool(PoolId pool, PoolTraits traits) {
    if (pool != PoolId::default_pool)
        ++pools_[pool];
    WrappedAllocator::begin_pool(pool, traits);
}

void ClosingAllocator::end_pool(PoolId pool) {
    if (const auto found = pools_.find(pool); found != pools_.end() && found->second > 0)
        --found->second;
    WrappedAllocator::end_pool(pool);
}

void ClosingAllocator::close_pool(PoolId pool) {
    pools_.erase(pool);
    WrappedAllocator::close_pool(pool);
}

void ClosingAllocator::close() {
    std::vector<Live> live;
    for (const auto& [address, each] : std::exchange(live_, {}))
        live.push_back(each);
    std::sort(live.begin(), live.end(),
              [](const Live& a, const Live& b) { return a.number < b.number; });
    // A block that the program had retired is not retired here: the flag went to the program, and
    // the counters of an allocator that ends don't matter.
    for (const Live& each : live)
        WrappedAllocator::deallocate(each.allocation, each.stream);
    for (const auto& [pool, scopes] : std::exchange(pools_, {})) {
        for (std::uint64_t i = 0; i < scopes; ++i)
            WrappedAllocator::end_pool(pool);
        WrappedAllocator::close_pool(pool);
    }
    WrappedAllocator::trim(TrimLevel::all);
}

}  // namespace tidemark
