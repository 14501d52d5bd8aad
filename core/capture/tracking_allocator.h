// TrackingAllocator: counts what passes through it to another allocator, and can be frozen so that
// nothing may be asked for, as while something that must not allocate runs. And AllocationGuard,
// which lets an allocation go unless it is released.
//
// Frozen here refuses; it is the opposite of what numr calls freezing its device allocator (that
// serves from the arena, see CaptureAllocator).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "core/allocator/forwarding_allocator.h"

namespace tidemark {

// The counts, of the bytes asked for. A handle: copies are the same counts. Thread-safe.
class AllocationTracker {
  public:
    struct Counts {
        std::uint64_t total_allocations = 0;
        Bytes total_bytes = 0;
        std::uint64_t live = 0;
        Bytes live_bytes = 0;
        Bytes peak_bytes = 0;  // of live_bytes
        bool frozen = false;

        friend bool operator==(const Counts&, const Counts&) = default;
    };

    AllocationTracker() : state_(std::make_shared<State>()) {}

    Counts counts() const;

    // From now on nothing, or everything again, may be asked for.
    void freeze() { set_frozen(true); }

    void unfreeze() { set_frozen(false); }

    // Counts from zero; frozen stays what it was. Errors (unsupported): something is alive.
    Result<void> reset();

    void allocated(Bytes size);

    // More than is alive counts as all of it.
    void deallocated(Bytes size);

  private:
    struct State {
        std::mutex mutex;
        Counts counts;
    };

    void set_frozen(bool frozen);

    std::shared_ptr<State> state_;
};

// Passes on to `inner`, which must outlive it. Not thread-safe; its tracker is. The refusal of a
// frozen one is a device_error with the status not_permitted.
class TrackingAllocator final : public ForwardingAllocator {
  public:
    explicit TrackingAllocator(Allocator& inner, AllocationTracker tracker = {});

    const AllocationTracker& tracker() const { return tracker_; }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;

    // Errors (unsupported): always, it would not know what was asked for.
    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;

  private:
    struct Entry {
        Allocation inner;
        Bytes requested = 0;
    };

    AllocationTracker tracker_;
    NodeTable<Entry> entries_;
};

// Lets an allocation go at its own end, on `stream`, unless released before.
class AllocationGuard {
  public:
    AllocationGuard(Allocator& allocator, const Allocation& allocation, StreamId stream)
        : allocator_(&allocator), allocation_(allocation), stream_(stream) {}

    AllocationGuard(AllocationGuard&& other) noexcept
        : allocator_(std::exchange(other.allocator_, nullptr)),
          allocation_(other.allocation_),
          stream_(other.stream_) {}

    AllocationGuard& operator=(AllocationGuard&&) = delete;

    ~AllocationGuard() {
        if (allocator_ != nullptr)
            allocator_->deallocate(allocation_, stream_);
    }

    const Allocation& allocation() const { return allocation_; }

    // The caller's from now on.
    Allocation release() {
        allocator_ = nullptr;
        return allocation_;
    }

  private:
    Allocator* allocator_;
    Allocation allocation_;
    StreamId stream_;
};

}  // namespace tidemark
