// DeferringAllocator: a policy behind a list of frees that wait, as Numba has one: what the program
// frees goes back in batches, in order, when more than so many frees wait, when they hold more than
// a share of the device's memory, or when a request would be refused. Frees are cheaper so where a
// policy gives memory back to the driver, and memory is reused later.
//
// What waits is let go and still active (Usage), a region in state `waiting`.
// Source: numba-cuda's _PendingDeallocs (count 10, ratio 0.2).
//
// Not thread-safe, as any allocator. A free is O(1); a batch O(its frees).
#pragma once

#include <memory>
#include <vector>

#include "core/allocator/forwarding_allocator.h"

namespace tidemark {

// When a batch goes back; 0: that is no reason.
struct DeferredFrees {
    std::uint64_t count = 0;  // more than so many wait
    Bytes bytes = 0;          // they hold more

    bool are_reached(std::size_t frees, Bytes held) const {
        return (count != 0 && frees > count) || (bytes != 0 && held > bytes);
    }
};

class DeferringAllocator final : public ForwardingAllocator {
  public:
    DeferringAllocator(std::unique_ptr<Allocator> policy, DeferredFrees settings);

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;
    void close_pool(PoolId pool) override;
    void trim_pool(PoolId pool) override;
    void for_each_region(const std::function<void(const Region&)>& visit) const override;
    std::unique_ptr<Allocator> clone(Device& device) const override;

  private:
    struct Waiting {
        Allocation allocation;
        StreamId stream;
    };

    void flush();

    std::unique_ptr<Allocator> policy_;
    DeferredFrees settings_;
    std::vector<Waiting> waiting_;  // in order
};

}  // namespace tidemark
