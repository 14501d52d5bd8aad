// ObservedAllocator: an Allocator over an Allocator that reports every grant, free and failed
// request to a MemoryObserver. The device underneath reports segments
// (backends/wrap/observed_device.h), so the two together are what a recorder of a running program
// needs.
//
// The inner allocator decides everything, exactly as it would unobserved. Not thread-safe, like any
// allocator. Costs what ForwardingAllocator costs, and the observer's time.
#pragma once

#include "core/allocator/forwarding_allocator.h"
#include "core/allocator/memory_observer.h"

namespace tidemark {

class ObservedAllocator final : public ForwardingAllocator {
  public:
    // Both must outlive it.
    ObservedAllocator(Allocator& inner, MemoryObserver& observer);

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;

    // Reports restored allocations as grants, in the order of the seeds.
    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;

    // A clone of the inner allocator, unobserved: it belongs to a what-if replay.
    std::unique_ptr<Allocator> clone(Device& device) const override;

  private:
    MemoryObserver& observer_;
};

}  // namespace tidemark
