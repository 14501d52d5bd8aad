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
    : inner_(inner), tracker_(std::move(tracker)) {
    forward([] {});
}

// Allocator::retire changes our counters only: what it took off is kept apart from the inner ones.
template <class Call>
void TrackingAllocator::forward(Call call) {
    retired_ += told_.allocated - usage_.allocated;
    call();
    usage_ = inner_.usage();
    usage_.allocated -= retired_;
    stats_ = inner_.stats();
    told_ = usage_;
}

tl::expected<Allocation, OutOfMemory> TrackingAllocator::allocate(const Request& request) {
    if (tracker_.counts().frozen)
        return tl::make_unexpected(
            OutOfMemory{OutOfMemory::Cause::device_error, DeviceStatus::not_permitted});
    tl::expected<Allocation, OutOfMemory> allocation;
    forward([&] { allocation = inner_.allocate(request); });
    if (!allocation)
        return allocation;
    std::uint32_t node = 0;
    if (vacant_.empty()) {
        node = static_cast<std::uint32_t>(entries_.size());
        entries_.emplace_back();
    } else {
        node = vacant_.back();
        vacant_.pop_back();
    }
    entries_[node] = {*allocation, request.size};
    tracker_.allocated(request.size);
    return Allocation{allocation->address, allocation->size, node};
}

void TrackingAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    TM_CHECK(allocation.node < entries_.size());
    const Entry entry = std::exchange(entries_[allocation.node], {});
    vacant_.push_back(allocation.node);
    forward([&] {
        if (allocation.retired)
            retired_ -= allocation.size;
        inner_.deallocate(entry.inner, stream);
    });
    tracker_.deallocated(entry.requested);
}

void TrackingAllocator::record_use(const Allocation& allocation, StreamId stream) {
    forward([&] { inner_.record_use(entries_[allocation.node].inner, stream); });
}

void TrackingAllocator::trim(TrimLevel level) {
    forward([&] { inner_.trim(level); });
}

void TrackingAllocator::begin_pool(PoolId pool, PoolTraits traits) {
    forward([&] { inner_.begin_pool(pool, traits); });
}

void TrackingAllocator::end_pool(PoolId pool) {
    forward([&] { inner_.end_pool(pool); });
}

void TrackingAllocator::close_pool(PoolId pool) {
    forward([&] { inner_.close_pool(pool); });
}

void TrackingAllocator::trim_pool(PoolId pool) {
    forward([&] { inner_.trim_pool(pool); });
}

void TrackingAllocator::plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) {
    forward([&] { inner_.plan_pool(pool, expected); });
}

Result<void> TrackingAllocator::reconfigure(const Options& options) {
    Result<void> done;
    forward([&] { done = inner_.reconfigure(options); });
    return done;
}

Bytes TrackingAllocator::largest_free() const {
    return inner_.largest_free();
}

void TrackingAllocator::for_each_region(const std::function<void(const Region&)>& visit) const {
    inner_.for_each_region(visit);
}

}  // namespace tidemark
