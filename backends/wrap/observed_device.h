// ObservedDevice: reports memory and addresses that are reserved from a device and released to it,
// by calls that succeeded, to a MemoryObserver.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

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
    struct Mapping {
        Bytes size = 0;
        std::uint64_t handle = 0;
        Address home = Address::null;  // of the same handle, if that isn't this one
    };

    // Adjacent mappings, with adjacent homes or none.
    struct Run {
        Range range;
        Address home = Address::null;
    };

    void report(const CallArguments& call, Address given);
    void mapped(const CallArguments& call);
    void unmapped(const CallArguments& call);

    void report(SegmentChange change, Range range, StreamId stream, Address home = Address::null) {
        observer_.on_segment(change, range, stream, home);
    }

    MemoryObserver& observer_;
    std::map<Address, Mapping> mappings_;
    std::unordered_map<std::uint64_t, std::vector<Address>>
        mappings_of_;  // handles; the home first
};

}  // namespace tidemark
