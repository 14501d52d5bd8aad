// ObservedDevice: reports memory and addresses that come from a device and go back to it, by calls
// that succeeded, to a MemoryObserver.
#pragma once

#include "backends/wrap/device_call.h"
#include "core/allocator/memory_observer.h"

namespace tidemark {

class ObservedDevice final : public WrappedDevice<ObservedDevice> {
  public:
    // Both must outlive it.
    ObservedDevice(Device& inner, MemoryObserver& observer)
        : WrappedDevice(inner), observer_(observer) {}

    template <class Make>
    auto around(const CallArguments& call, Make make) {
        auto result = make();
        if (result)
            report(call, outcome_of(result).address);
        return result;
    }

  private:
    void report(const CallArguments& call, Address given) {
        switch (call.call) {
            case DeviceCall::malloc:
            case DeviceCall::malloc_async:
                return report(SegmentChange::segment_alloc, {given, call.size}, call.stream);
            case DeviceCall::free:
            case DeviceCall::free_async:
                return report(SegmentChange::segment_free, {call.address, 0}, call.stream);
            case DeviceCall::reserve:
                return report(SegmentChange::reserve, {given, call.size}, call.stream);
            case DeviceCall::unreserve:
                return report(SegmentChange::unreserve, call.range(), call.stream);
            case DeviceCall::map:
                return report(SegmentChange::map, call.range(), call.stream);
            case DeviceCall::unmap:
                return report(SegmentChange::unmap, call.range(), call.stream);
            default:
                return;
        }
    }

    void report(SegmentChange change, Range range, StreamId stream) {
        observer_.on_segment(change, range, stream);
    }

    MemoryObserver& observer_;
};

}  // namespace tidemark
