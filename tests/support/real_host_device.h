// RealHostDevice: a simulated device whose pinned host memory is the process's own, so that the
// program, disk stores and copies see the same bytes.
//
// What a copy moves between host and device moves when it is *seen to have completed* (complete,
// synchronize, free), not when it is queued; before that the target holds something else. So
// whoever uses a target or reuses a source too early finds wrong bytes. Copies on the device alone
// are the simulator's. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "backends/sim/sim_device.h"
#include "backends/wrap/device_call.h"

namespace tidemark::support {

class RealHostDevice final : public WrappedDevice<RealHostDevice> {
  public:
    // `device` has content (SimConfig::backed) and outlives this one.
    explicit RealHostDevice(SimDevice& device) : WrappedDevice(device), sim_(device) {}

    template <class Make>
    auto around(const CallArguments& /*arguments*/, Make make) -> decltype(make()) {
        return make();
    }

    DeviceResult<Address> host_malloc(Bytes size) override;
    DeviceResult<void> host_free(Address address) override;
    DeviceResult<void> copy(Address target, Address source, Bytes size, StreamId stream) override;
    DeviceResult<EventId> record(StreamId stream) override;
    DeviceResult<bool> complete(EventId event) override;
    DeviceResult<void> synchronize(StreamId stream) override;
    DeviceResult<void> synchronize_device() override;
    DeviceResult<void> free(Address address) override;

  private:
    struct HostMemory {
        std::vector<std::byte> bytes;  // with room to align
        Address shadow = Address::null;
        Bytes size = 0;
    };

    struct Movement {
        Address target;
        Address source;
        Bytes size;
        bool to_host;
    };

    struct Stream {
        std::vector<Movement> queued;  // not seen to have completed
        std::uint64_t first = 0;       // the number of queued.front()
    };

    struct Point {
        StreamId stream;
        std::uint64_t until;  // the number of the first movement behind it
    };

    // The simulator's address for one of the process's; null: not ours.
    Address shadow_of(Address address) const;
    void move_until(StreamId stream, std::uint64_t until);
    void move_all();

    SimDevice& sim_;
    std::map<Address, HostMemory> memory_;
    std::map<StreamId, Stream> streams_;
    std::map<EventId, Point> points_;
};

}  // namespace tidemark::support
