// See deferring_allocator.h.
#include "core/allocator/deferring_allocator.h"

#include <algorithm>
#include <utility>

namespace tidemark {

DeferringAllocator::DeferringAllocator(std::unique_ptr<Allocator> policy, DeferredFrees settings)
    : ForwardingAllocator(*policy), policy_(std::move(policy)), settings_(settings) {}

tl::expected<Allocation, OutOfMemory> DeferringAllocator::allocate(const Request& request) {
    auto granted = ForwardingAllocator::allocate(request);
    if (granted || waiting_.empty() || request.size >= kLargestRequest)
        return granted;
    flush();
    count_retry();
    return ForwardingAllocator::allocate(request);
}

void DeferringAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    waiting_.push_back({allocation, stream});
    count_deferred(allocation.size, !allocation.retired);
    if (settings_.are_reached(waiting_.size(), stats().deferred))
        flush();
}

void DeferringAllocator::flush() {
    count_flush();
    for (const Waiting& freed : std::exchange(waiting_, {}))
        ForwardingAllocator::deallocate(freed.allocation, freed.stream);
}

void DeferringAllocator::trim(TrimLevel level) {
    flush();
    ForwardingAllocator::trim(level);
}

void DeferringAllocator::close_pool(PoolId pool) {
    flush();
    ForwardingAllocator::close_pool(pool);
}

void DeferringAllocator::trim_pool(PoolId pool) {
    flush();
    ForwardingAllocator::trim_pool(pool);
}

void DeferringAllocator::for_each_region(const std::function<void(const Region&)>& visit) const {
    std::vector<Address> waiting;
    for (const Waiting& freed : waiting_)
        waiting.push_back(freed.allocation.address);
    std::sort(waiting.begin(), waiting.end());
    ForwardingAllocator::for_each_region([&](const Region& region) {
        Region shown = region;
        // An allocation that is aligned may begin after its region.
        const auto next = std::lower_bound(waiting.begin(), waiting.end(), region.range.begin);
        if (region.state == Region::State::allocated && next != waiting.end() &&
            to_integer(*next) - to_integer(region.range.begin) < region.range.size)
            shown.state = Region::State::waiting;
        visit(shown);
    });
}

std::unique_ptr<Allocator> DeferringAllocator::clone(Device& device) const {
    std::unique_ptr<Allocator> policy = clone_inner(device);
    if (policy == nullptr)
        return nullptr;
    auto copy = std::make_unique<DeferringAllocator>(std::move(policy), settings_);
    copy->waiting_ = waiting_;
    copy->take_counts(*this);
    return copy;
}

}  // namespace tidemark
