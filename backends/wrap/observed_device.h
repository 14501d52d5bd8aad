// ObservedDevice: tells a MemoryObserver of memory and addresses that come from a device and go
// back to it, by calls that succeeded.
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
    auto around(const CallArguments& asked, Make make) {
        auto result = make();
        if (result)
            tell(asked, outcome_of(result).address);
        return result;
    }

  private:
    void tell(const CallArguments& asked, Address given) {
        switch (asked.call) {
            case DeviceCall::malloc:
            case DeviceCall::malloc_async:
                return tell(SegmentChange::segment_alloc, {given, asked.size}, asked.stream);
            case DeviceCall::free:
            case DeviceCall::free_async:
                return tell(SegmentChange::segment_free, {asked.address, 0}, asked.stream);
            case DeviceCall::reserve:
                return tell(SegmentChange::reserve, {given, asked.size}, asked.stream);
            case DeviceCall::unreserve:
                return tell(SegmentChange::unreserve, asked.range(), asked.stream);
            case DeviceCall::map:
                return tell(SegmentChange::map, asked.range(), asked.stream);
            case DeviceCall::unmap:
                return tell(SegmentChange::unmap, asked.range(), asked.stream);
            default:
                return;
        }
    }

    void tell(SegmentChange change, Range range, StreamId stream) {
        observer_.on_segment(change, range, stream);
    }

    MemoryObserver& observer_;
};

}  // namespace tidemark
