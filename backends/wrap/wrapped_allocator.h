// WrappedAllocator: an Allocator over an Allocator that forwards every call and keeps the counters
// of both the same. What watches allocators derives from it and overrides the calls it watches.
//
// Not thread-safe. Costs a virtual call and a copy of the counters.
#pragma once

#include <memory>
#include <type_traits>

#include "core/allocator/allocator.h"

namespace tidemark {

class WrappedAllocator : public Allocator {
  public:
    explicit WrappedAllocator(std::unique_ptr<Allocator> inner);

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;
    void begin_pool(PoolId pool, PoolTraits traits) override;
    void end_pool(PoolId pool) override;
    void close_pool(PoolId pool) override;
    void trim_pool(PoolId pool) override;
    void plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) override;
    Result<void> reconfigure(const Options& options) override;
    Bytes largest_free() const override;
    void for_each_region(const std::function<void(const Region&)>& visit) const override;

    // Of the inner allocator, not wrapped: it talks to a device that nobody watches.
    std::unique_ptr<Allocator> clone(Device& device) const override;

    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;

  private:
    static void retire_bytes(Allocator& allocator, Bytes size);

    Bytes retired_since_last_call() const { return told_.allocated - usage_.allocated; }

    void before_call();
    void after_call();

    template <class Call>
    auto forward(Call call) -> decltype(call()) {
        before_call();
        if constexpr (std::is_void_v<decltype(call())>) {
            call();
            after_call();
        } else {
            auto result = call();
            after_call();
            return result;
        }
    }

    std::unique_ptr<Allocator> inner_;
    Usage told_;  // usage_ as the last call left it
};

}  // namespace tidemark
