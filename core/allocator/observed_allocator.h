// ObservedAllocator: an Allocator over an Allocator that reports every grant, free and refusal to a
// MemoryObserver. Segments are reported by the device beneath (backends/wrap/observed_device.h), so
// the two together are what a recorder of a living program needs.
//
// Decisions stay the inner allocator's: it answers as it would without. Not thread-safe, as any
// allocator. Costs what ForwardingAllocator costs, and the observer's time.
#pragma once

#include "core/allocator/forwarding_allocator.h"
#include "core/allocator/memory_observer.h"

namespace tidemark {

class ObservedAllocator final : public ForwardingAllocator {
  public:
    // Both outlive it.
    ObservedAllocator(Allocator& inner, MemoryObserver& observer);

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;

    // Reports what is restored as grants, in the order of the seeds.
    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;

    // Of the inner allocator, unobserved: it belongs to a replay of "what if".
    std::unique_ptr<Allocator> clone(Device& device) const override;

  private:
    MemoryObserver& observer_;
};

}  // namespace tidemark
