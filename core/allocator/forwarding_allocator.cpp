// Forwards calls, and keeps the counters of both sides the same.
#include "core/allocator/forwarding_allocator.h"

namespace tidemark {
namespace {

// Allocator::retire isn't virtual, so it has changed our counters only. The inner allocator learns
// of it before its next call, as one retirement of as many bytes; it keeps no other record of one.
void retire_bytes(Allocator& allocator, Bytes size) {
    Allocation bytes{.size = size};
    allocator.retire(bytes);
}

}  // namespace

ForwardingAllocator::ForwardingAllocator(Allocator& inner) : inner_(inner) {
    after_call();
}

void ForwardingAllocator::before_call() {
    retire_bytes(inner_, retired_since_last_call());
}

void ForwardingAllocator::after_call() {
    usage_ = inner_.usage();
    usage_.allocated -= held_back_ + let_go_;
    usage_.active -= held_back_;
    stats_ = inner_.stats();
    stats_ += own_;
    reported_ = usage_;
}

tl::expected<Allocation, OutOfMemory> ForwardingAllocator::allocate(const Request& request) {
    return forward([&] { return inner_.allocate(request); });
}

void ForwardingAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    forward([&] { inner_.deallocate(allocation, stream); });
}

void ForwardingAllocator::record_use(const Allocation& allocation, StreamId stream) {
    forward([&] { inner_.record_use(allocation, stream); });
}

void ForwardingAllocator::trim(TrimLevel level) {
    forward([&] { inner_.trim(level); });
}

void ForwardingAllocator::begin_pool(PoolId pool, PoolTraits traits) {
    forward([&] { inner_.begin_pool(pool, traits); });
}

void ForwardingAllocator::end_pool(PoolId pool) {
    forward([&] { inner_.end_pool(pool); });
}

void ForwardingAllocator::close_pool(PoolId pool) {
    forward([&] { inner_.close_pool(pool); });
}

void ForwardingAllocator::trim_pool(PoolId pool) {
    forward([&] { inner_.trim_pool(pool); });
}

void ForwardingAllocator::plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) {
    forward([&] { inner_.plan_pool(pool, expected); });
}

Result<void> ForwardingAllocator::reconfigure(const Options& options) {
    return forward([&] { return inner_.reconfigure(options); });
}

Bytes ForwardingAllocator::largest_free() const {
    return inner_.largest_free();
}

void ForwardingAllocator::for_each_region(const std::function<void(const Region&)>& visit) const {
    inner_.for_each_region(visit);
}

void ForwardingAllocator::for_each_address(
    const std::function<void(const AddressSpan&)>& visit) const {
    inner_.for_each_address(visit);
}

std::unique_ptr<Allocator> ForwardingAllocator::clone_inner(Device& device) const {
    std::unique_ptr<Allocator> copy = inner_.clone(device);
    if (copy)
        retire_bytes(*copy, retired_since_last_call());
    return copy;
}

Result<std::vector<Allocation>> ForwardingAllocator::restore(
    std::span<const SeedSegment> segments) {
    return forward([&] { return inner_.restore(segments); });
}

}  // namespace tidemark
