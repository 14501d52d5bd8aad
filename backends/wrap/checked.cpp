// CheckedAllocator: forwards, tells the checker, and keeps the counters of both sides the same.
#include "backends/wrap/checked.h"

namespace tidemark {

CheckedAllocator::CheckedAllocator(std::unique_ptr<Allocator> inner, Checker& checker)
    : inner_(std::move(inner)), checker_(checker) {
    after_call();
}

CheckedAllocator::~CheckedAllocator() {
    checker_.tearing_down();
}

// Allocator::retire isn't virtual: it has changed our counters only. The inner allocator hears of
// it before its next call, as one retirement of as many bytes: it keeps no other note of one.
void CheckedAllocator::retire_bytes(Allocator& allocator, Bytes size) {
    Allocation bytes{.size = size};
    allocator.retire(bytes);
}

void CheckedAllocator::before_call() {
    retire_bytes(*inner_, retired_since_last_call());
}

void CheckedAllocator::after_call() {
    usage_ = inner_->usage();
    stats_ = inner_->stats();
    told_ = usage_;
}

tl::expected<Allocation, OutOfMemory> CheckedAllocator::allocate(const Request& request) {
    before_call();
    const auto allocation = inner_->allocate(request);
    after_call();
    if (allocation)
        checker_.granted(request, *allocation);
    return allocation;
}

void CheckedAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    before_call();
    checker_.deallocating(allocation);
    inner_->deallocate(allocation, stream);
    after_call();
}

void CheckedAllocator::record_use(const Allocation& allocation, StreamId stream) {
    before_call();
    checker_.used_on(allocation, stream);
    inner_->record_use(allocation, stream);
    after_call();
}

void CheckedAllocator::trim(TrimLevel level) {
    forward([level](Allocator& inner) { inner.trim(level); });
}

void CheckedAllocator::begin_pool(PoolId pool, PoolTraits traits) {
    forward([&](Allocator& inner) { inner.begin_pool(pool, traits); });
}

void CheckedAllocator::end_pool(PoolId pool) {
    forward([pool](Allocator& inner) { inner.end_pool(pool); });
}

void CheckedAllocator::close_pool(PoolId pool) {
    forward([pool](Allocator& inner) { inner.close_pool(pool); });
}

void CheckedAllocator::trim_pool(PoolId pool) {
    forward([pool](Allocator& inner) { inner.trim_pool(pool); });
}

Result<void> CheckedAllocator::reconfigure(const Options& options) {
    Result<void> done;
    forward([&](Allocator& inner) { done = inner.reconfigure(options); });
    return done;
}

Bytes CheckedAllocator::largest_free() const {
    return inner_->largest_free();
}

void CheckedAllocator::for_each_region(const std::function<void(const Region&)>& visit) const {
    inner_->for_each_region(visit);
}

std::unique_ptr<Allocator> CheckedAllocator::clone(Device& device) const {
    std::unique_ptr<Allocator> copy = inner_->clone(device);
    if (copy)
        retire_bytes(*copy, retired_since_last_call());
    return copy;
}

Result<std::vector<Allocation>> CheckedAllocator::restore(std::span<const SeedSegment> segments) {
    before_call();
    Result<std::vector<Allocation>> allocations = inner_->restore(segments);
    after_call();
    if (!allocations)
        return allocations;
    std::size_t next = 0;
    for (const SeedSegment& segment : segments) {
        for (const SeedBlock& block : segment.blocks) {
            if (next < allocations->size())
                checker_.granted({.size = block.requested,
                                  .alignment = 1,
                                  .stream = segment.stream,
                                  .pool = segment.pool},
                                 (*allocations)[next++]);
        }
    }
    return allocations;
}

}  // namespace tidemark
