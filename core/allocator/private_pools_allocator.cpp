// See private_pools_allocator.h.
#include "core/allocator/private_pools_allocator.h"

#include <algorithm>

namespace tidemark {

PrivatePoolsAllocator::PrivatePoolsAllocator(std::unique_ptr<Allocator> shared,
                                             std::unique_ptr<Allocator> own)
    : shared_(std::move(shared)), own_(std::move(own)) {
    end_call();
}

void PrivatePoolsAllocator::end_call() {
    usage_ = shared_->usage();
    usage_ += own_->usage();
    usage_.allocated -= retired_;
    stats_ = shared_->stats();
    stats_ += own_->stats();
    reported_ = usage_.allocated;
}

tl::expected<Allocation, OutOfMemory> PrivatePoolsAllocator::allocate(const Request& request) {
    begin_call();
    auto granted = of(request.pool).allocate(request);
    if (granted)
        granted->node = granted_.put({*granted, request.pool != PoolId::default_pool});
    end_call();
    return granted;
}

void PrivatePoolsAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    begin_call();
    Granted granted = granted_.take(allocation.node);
    if (allocation.retired) {
        retired_ -= allocation.size;
        of(granted).retire(granted.allocation);
    }
    of(granted).deallocate(granted.allocation, stream);
    end_call();
}

void PrivatePoolsAllocator::record_use(const Allocation& allocation, StreamId stream) {
    begin_call();
    const Granted& granted = granted_.at(allocation.node);
    of(granted).record_use(granted.allocation, stream);
    end_call();
}

void PrivatePoolsAllocator::trim(TrimLevel level) {
    begin_call();
    shared_->trim(level);
    own_->trim(level);
    end_call();
}

void PrivatePoolsAllocator::begin_pool(PoolId pool, PoolTraits traits) {
    begin_call();
    of(pool).begin_pool(pool, traits);
    end_call();
}

void PrivatePoolsAllocator::end_pool(PoolId pool) {
    begin_call();
    of(pool).end_pool(pool);
    end_call();
}

void PrivatePoolsAllocator::close_pool(PoolId pool) {
    begin_call();
    of(pool).close_pool(pool);
    end_call();
}

void PrivatePoolsAllocator::trim_pool(PoolId pool) {
    begin_call();
    of(pool).trim_pool(pool);
    end_call();
}

void PrivatePoolsAllocator::plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) {
    begin_call();
    of(pool).plan_pool(pool, expected);
    end_call();
}

Result<void> PrivatePoolsAllocator::reconfigure(const Options& options) {
    begin_call();
    Result<void> done = shared_->reconfigure(options);
    end_call();
    return done;
}

Bytes PrivatePoolsAllocator::largest_free() const {
    return std::max(shared_->largest_free(), own_->largest_free());
}

void PrivatePoolsAllocator::for_each_region(const std::function<void(const Region&)>& visit) const {
    shared_->for_each_region(visit);
    own_->for_each_region(visit);
}

void PrivatePoolsAllocator::for_each_address(
    const std::function<void(const AddressSpan&)>& visit) const {
    shared_->for_each_address(visit);
    own_->for_each_address(visit);
}

std::unique_ptr<Allocator> PrivatePoolsAllocator::clone(Device& device) const {
    std::unique_ptr<Allocator> shared = shared_->clone(device);
    std::unique_ptr<Allocator> own = own_->clone(device);
    if (shared == nullptr || own == nullptr)
        return nullptr;
    auto copy = std::make_unique<PrivatePoolsAllocator>(std::move(shared), std::move(own));
    copy->granted_ = granted_;
    copy->retired_ = retired_ + reported_ - usage_.allocated;
    copy->end_call();
    return copy;
}

}  // namespace tidemark
