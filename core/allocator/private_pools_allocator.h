// PrivatePoolsAllocator: a policy for the default pool, and another allocator for private pools
// (captured graphs, MemPools). PyTorch programs have this under tidemark.torch.use(), where
// PyTorch's own allocator keeps serving private pools. Neither ever gets the other's memory.
//
// It cannot start from a recorded state (restore). Not thread-safe, like any allocator. A call
// costs one more virtual call and table entry.
#pragma once

#include <memory>

#include "core/allocator/forwarding_allocator.h"

namespace tidemark {

class PrivatePoolsAllocator final : public Allocator {
  public:
    PrivatePoolsAllocator(std::unique_ptr<Allocator> shared, std::unique_ptr<Allocator> own);

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;
    void begin_pool(PoolId pool, PoolTraits traits) override;
    void end_pool(PoolId pool) override;
    void close_pool(PoolId pool) override;
    void trim_pool(PoolId pool) override;
    void plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) override;
    Result<void> reconfigure(const Options& options) override;  // of the default pool's
    Bytes largest_free() const override;
    void for_each_region(const std::function<void(const Region&)>& visit) const override;
    void for_each_address(const std::function<void(const AddressSpan&)>& visit) const override;
    std::unique_ptr<Allocator> clone(Device& device) const override;

  private:
    struct Granted {
        Allocation allocation;
        bool own = false;
    };

    Allocator& of(PoolId pool) { return pool == PoolId::default_pool ? *shared_ : *own_; }

    Allocator& of(const Granted& granted) { return granted.own ? *own_ : *shared_; }

    // Called before and after a call of either: only this class knows what was retired since.
    void begin_call() { retired_ += reported_ - usage_.allocated; }

    void end_call();

    std::unique_ptr<Allocator> shared_;
    std::unique_ptr<Allocator> own_;
    NodeTable<Granted> granted_;
    Bytes retired_ = 0;   // freed by the program, but not yet deallocated
    Bytes reported_ = 0;  // usage_.allocated as the last call left it
};

}  // namespace tidemark
