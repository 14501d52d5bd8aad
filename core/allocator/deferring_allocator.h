// DeferringAllocator: a policy behind a list of delayed frees, as Numba has one. The list is freed
// as one batch, in order, when it has more than a number of frees, when these hold more than a
// share of the device's memory, or when a request would otherwise fail. That makes frees cheaper
// where a policy releases memory to the driver, but memory is reused later.
//
// Memory on the list is no longer allocated but still active (Usage), a region in state `waiting`.
// Source: numba-cuda's _PendingDeallocs (count 10, ratio 0.2).
//
// Not thread-safe, like any allocator. A free is O(1); a batch O(its frees).
#pragma once

#include <memory>
#include <vector>

#include "core/allocator/forwarding_allocator.h"

namespace tidemark {

// When a batch is freed; a 0 turns its condition off.
struct DeferredFrees {
    std::uint64_t count = 0;  // more frees than this are on the list
    Bytes bytes = 0;          // they hold more than this

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
