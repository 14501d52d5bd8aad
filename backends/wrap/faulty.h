// FaultyDevice: a Device over a Device that fails when it is told to.
//
// A suite that wants to see every failure survived runs the same work with the 1st, 2nd, 3rd...
// call failing, until `failures()` stays 0. A call that fails does not reach the inner device: as
// the contract of Device says, nothing has changed. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/wrap/device_call.h"

namespace tidemark {

struct FaultPlan {
    std::uint64_t nth = 0;  // which of the counted calls fails, from 1; 0 = none
    std::optional<DeviceCall> call =
        std::nullopt;  // only calls of this kind are counted; empty = all
    DeviceStatus status = DeviceStatus::out_of_memory;
    bool and_all_after = false;  // the counted calls after it fail too
};

class FaultyDevice final : public WrappedDevice<FaultyDevice> {
  public:
    FaultyDevice(Device& inner, const FaultPlan& plan) : WrappedDevice(inner), plan_(plan) {}

    // Starts again with another plan: the counts are zero.
    void set_plan(const FaultPlan& plan) {
        plan_ = plan;
        calls_ = 0;
        failures_ = 0;
    }

    std::uint64_t calls() const { return calls_; }  // those that the plan counts

    std::uint64_t failures() const { return failures_; }

    template <class Make>
    auto around(const CallArguments& arguments, Make make) -> decltype(make()) {
        if (fails(arguments.call))
            return tl::make_unexpected(DeviceError{plan_.status, arguments.call, 0});
        return make();
    }

  private:
    bool fails(DeviceCall call);

    FaultPlan plan_;
    std::uint64_t calls_ = 0;
    std::uint64_t failures_ = 0;
};

}  // namespace tidemark
