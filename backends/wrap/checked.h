// CheckedDevice and CheckedAllocator: a Device over a Device and an Allocator over an Allocator
// that tell one Checker all that happens. They answer exactly what the inner ones answer.
//
//     Checker checker;
//     CheckedDevice device(sim, checker);
//     CheckedAllocator allocator(make(device), checker);
//     ... checker.set_event(n) before each event; at the end destroy the allocator, then
//     checker.finish();
//
// Not thread-safe.
#pragma once

#include <memory>

#include "backends/wrap/checker.h"
#include "backends/wrap/device_call.h"
#include "core/allocator/allocator.h"

namespace tidemark {

class CheckedDevice final : public WrappedDevice<CheckedDevice> {
  public:
    CheckedDevice(Device& inner, Checker& checker) : WrappedDevice(inner), checker_(checker) {}

    template <class Make>
    auto around(const CallArguments& arguments, Make make) -> decltype(make()) {
        const bool capturing = inner_.capturing();
        auto result = make();
        checker_.device_call(arguments, outcome_of(result), capturing);
        return result;
    }

  private:
    Checker& checker_;
};

class CheckedAllocator final : public Allocator {
  public:
    CheckedAllocator(std::unique_ptr<Allocator> inner, Checker& checker);
    ~CheckedAllocator() override;

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;
    void begin_pool(PoolId pool, PoolTraits traits) override;
    void end_pool(PoolId pool) override;
    void close_pool(PoolId pool) override;
    void trim_pool(PoolId pool) override;
    Result<void> reconfigure(const Options& options) override;
    Bytes largest_free() const override;
    void for_each_region(const std::function<void(const Region&)>& visit) const override;

    // Of the inner allocator, unchecked: it talks to a device that the checker doesn't see.
    std::unique_ptr<Allocator> clone(Device& device) const override;

    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;

  private:
    static void retire_bytes(Allocator& allocator, Bytes size);

    Bytes retired_since_last_call() const { return told_.allocated - usage_.allocated; }

    void before_call();
    void after_call();

    // Forwards a call that the checker need not know of.
    template <class Call>
    void forward(Call call) {
        before_call();
        call(*inner_);
        after_call();
    }

    std::unique_ptr<Allocator> inner_;
    Checker& checker_;
    Usage told_;  // usage_ as the last call left it
};

}  // namespace tidemark
