// CheckedDevice and CheckedAllocator: wrappers of a Device and of the Allocator on it that report
// every call to one Checker, which finds what must not happen. They answer exactly what the inner
// ones answer.
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
#include <utility>

#include "backends/wrap/checker.h"
#include "backends/wrap/device_call.h"
#include "backends/wrap/wrapped_allocator.h"

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

class CheckedAllocator final : public WrappedAllocator {
  public:
    CheckedAllocator(std::unique_ptr<Allocator> inner, Checker& checker)
        : WrappedAllocator(std::move(inner)), checker_(checker) {}

    ~CheckedAllocator() override { checker_.tearing_down(); }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;

  private:
    Checker& checker_;
};

}  // namespace tidemark
