// DriverDevice: a Device over the scripted Driver, for the policy under test. It has plain and
// virtual memory and order between streams, no more.
//
// A run of pages counts as mapped, in the driver's log, when access to it is granted, and as
// unmapped when access to it ends: what was mapped and taken back before anybody could use it never
// happened. Calls that no device would take are kept as `misuse`. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/device/device.h"
#include "tests/model/driver.h"

namespace tidemark::model {

class DriverDevice final : public Device {
  public:
    explicit DriverDevice(const DriverSetup& setup) : state_{.driver = Driver(setup)} {}

    // A device in the same state that goes its own way.
    std::unique_ptr<DriverDevice> copy() const;

    Driver& driver() { return state_.driver; }

    // The first call that broke the rules, or "".
    const std::string& misuse() const { return state_.misuse; }

    std::string_view name() const override { return "scripted driver"; }

    bool has(Feature feature) const override { return feature == Feature::virtual_memory; }

    Bytes granularity() const override { return 2_MiB; }

    MemoryInfo memory() const override;

    Nanoseconds now() const override { return static_cast<Nanoseconds>(state_.driver.now()); }

    const DeviceCounters& counters() const override { return state_.counters; }

    DeviceResult<Address> malloc(Bytes size) override;
    DeviceResult<void> free(Address address) override;
    DeviceResult<Address> malloc_async(Bytes size, StreamId stream) override;
    DeviceResult<void> free_async(Address address, StreamId stream) override;
    DeviceResult<void> set_pool_threshold(Bytes threshold) override;
    DeviceResult<void> trim_pool(Bytes keep) override;

    DeviceResult<Range> reserve(Bytes size) override;
    DeviceResult<void> unreserve(Range range) override;
    DeviceResult<PhysicalId> create(Location where, Bytes size) override;
    DeviceResult<void> release(PhysicalId physical) override;
    DeviceResult<void> map(Range range, PhysicalId physical) override;
    DeviceResult<void> unmap(Range range) override;
    DeviceResult<void> set_access(Range range, bool writable) override;

    DeviceResult<EventId> record(StreamId stream) override;
    DeviceResult<bool> complete(EventId event) override;
    DeviceResult<void> wait(StreamId stream, EventId event) override;
    DeviceResult<void> synchronize(StreamId stream) override;
    DeviceResult<void> synchronize_device() override;

    bool capturing() const override { return false; }

    DeviceResult<void> copy(Address target, Address source, Bytes size, StreamId stream) override;
    DeviceResult<void> fill(Address target, std::uint8_t value, Bytes size,
                            StreamId stream) override;
    DeviceResult<Address> host_malloc(Bytes size) override;
    DeviceResult<void> host_free(Address address) override;

  private:
    struct Handle {
        Bytes size = 0;
        bool mapped = false;
        bool released = false;
    };

    struct Mapping {
        Bytes size = 0;
        PhysicalId physical{};
        bool accessible = false;
    };

    struct Event {
        StreamId stream = StreamId::default_stream;
        std::uint64_t step = 0;
    };

    struct State {
        Driver driver;
        std::string misuse = {};
        DeviceCounters counters = {};
        std::map<PhysicalId, Handle> handles = {};
        std::map<Address, Mapping> mappings = {};
        std::map<EventId, Event> events = {};
        std::uint64_t next_id = 1;
    };

    explicit DriverDevice(const State& state) : state_(state) {}

    tl::unexpected<DeviceError> misused(DeviceCall call, Range range);
    bool give_if_unused(PhysicalId physical);
    bool covers_whole_mappings(Range range, bool accessible) const;

    State state_;
};

}  // namespace tidemark::model
