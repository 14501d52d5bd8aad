// Forwards, and keeps the counters of both sides the same.
#include "backends/wrap/wrapped_allocator.h"

#include <utility>

namespace tidemark {

WrappedAllocator::WrappedAllocator(std::unique_ptr<Allocator> inner) : inner_(std::move(inner)) {
    after_call();
}

// Allocator::retire isn't virtual: it has changed our counters only. The inner allocator hears of
// it before its next call, as one retirement of as many bytes: it keeps no other note of one.
void WrappedAllocator::retire_bytes(Allocator& allocator, Bytes size) {
    Allocation bytes{.size = size};
    allocator.retire(bytes);
}

void WrappedAllocator::before_call() {
    retire_bytes(*inner_, retired_since_last_call());
}

void WrappedAllocator::after_call() {
    usage_ = inner_->usage();
    stats_ = inner_->stats();
    told_ = usage_;
}

tl::expected<Allocation, OutOfMemory> WrappedAllocator::allocate(const Request& request) {
    return forward([&] { return inner_->allocate(request); });
}

void WrappedAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    forward([&] { inner_->deallocate(allocation, stream); });
}

void WrappedAllocator::record_use(const Allocation& allocation, StreamId stream) {
    forward([&] { inner_->record_use(allocation, stream); });
}

void WrappedAllocator::trim(TrimLevel level) {
    forward([&] { inner_->trim(level); });
}

void WrappedAllocator::begin_pool(PoolId pool, PoolTraits traits) {
    forward([&] { inner_->begin_pool(pool, traits); });
}

void WrappedAllocator::end_pool(PoolId pool) {
    forward([&] { inner_->end_pool(pool); });
}

void WrappedAllocator::close_pool(PoolId pool) {
    forward([&] { inner_->close_pool(pool); });
}

void WrappedAllocator::trim_pool(PoolId pool) {
    forward([&] { inner_->trim_pool(pool); });
}

void WrappedAllocator::plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) {
    forward([&] { inner_->plan_pool(pool, expected); });
}

Result<void> WrappedAllocator::reconfigure(const Options& options) {
    return forward([&] { return inner_->reconfigure(options); });
}

Bytes WrappedAllocator::largest_free() const {
    return inner_->largest_free();
}

void WrappedAllocator::for_each_region(const std::function<void(const Region&)>& visit) const {
    inner_->for_each_region(visit);
}

std::unique_ptr<Allocator> WrappedAllocator::clone(Device& device) const {
    std::unique_ptr<Allocator> copy = inner_->clone(device);
    if (copy)
        retire_bytes(*copy, retired_since_last_call());
    return copy;
}

Result<std::vector<Allocation>> WrappedAllocator::restore(std::span<const SeedSegment> segments) {
    return forward([&] { return inner_->restore(segments); });
}

}  // namespace tidemark
