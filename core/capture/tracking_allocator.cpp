// TrackingAllocator: counting, and passing on.
#include "core/capture/tracking_allocator.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {

AllocationTracker::Counts AllocationTracker::counts() const {
    const std::lock_guard lock(state_->mutex);
    return state_->counts;
}

void AllocationTracker::set_frozen(bool frozen) {
    const std::lock_guard lock(state_->mutex);
    state_->counts.frozen = frozen;
}

Result<void> AllocationTracker::reset() {
    const std::lock_guard lock(state_->mutex);
    Counts& counts = state_->counts;
    if (counts.live != 0)
        return fail(ErrorCode::unsupported, fmt::format("{} allocations are alive", counts.live),
                    "tracker", "let them go before the counts are reset");
    counts = {.frozen = counts.frozen};
    return {};
}

void AllocationTracker::allocated(Bytes size) {
    const std::lock_guard lock(state_->mutex);
    Counts& counts = state_->counts;
    ++counts.total_allocations;
    counts.total_bytes += size;
    ++counts.live;
    counts.live_bytes += size;
    counts.peak_bytes = std::max(counts.peak_bytes, counts.live_bytes);
}

void AllocationTracker::deallocated(Bytes size) {
    const std::lock_guard lock(state_->mutex);
    Counts& counts = state_->counts;
    counts.live -= std::min<std::uint64_t>(counts.live, 1);
    counts.live_bytes -= std::min(counts.live_bytes, size);
}

TrackingAllocator::TrackingAllocator(Allocator& inner, AllocationTracker tracker)
    : ForwardingAllocator(inner), tracker_(std::move(tracker)) {}

tl::expected<Allocation, OutOfMemory> TrackingAllocator::allocate(const Request& request) {
    if (tracker_.counts().frozen)
        return tl::make_unexpected(
            OutOfMemory{OutOfMemory::Cause::device_error, DeviceStatus::not_permitted});
    tl::expected<Allocation, OutOfMemory> allocation = ForwardingAllocator::allocate(request);
    if (!allocation)
        return allocation;
    tracker_.allocated(request.size);
    allocation->node = entries_.put({*allocation, request.size});
    return allocation;
}

void TrackingAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    Entry entry = entries_.take(allocation.node);
    entry.inner.retired = allocation.retired;
    ForwardingAllocator::deallocate(entry.inner, stream);
    tracker_.deallocated(entry.requested);
}

void TrackingAllocator::record_use(const Allocation& allocation, StreamId stream) {
    ForwardingAllocator::record_use(entries_.at(allocation.node).inner, stream);
}

Result<std::vector<Allocation>> TrackingAllocator::restore(std::span<const SeedSegment> segments) {
    return Allocator::restore(segments);
}

}  // namespace tidemark
