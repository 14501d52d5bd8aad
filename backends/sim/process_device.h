// ProcessDevice: a simulated GPU for programs, whose memory is memory of this process: granted
// memory can be read and written at its address, by the program and by "kernels" that are ordinary
// functions. Reserved addresses without memory mapped to them fault when they are touched, as on a
// GPU; copies and fills refuse them (invalid_value).
//
// It has no clock and counts no calls: queued work is done when the call returns, so events have
// passed when they are recorded. Capacity is counted exactly, and physical memory is released to
// the system. Features: virtual memory, host memory, copies. Thread-safe. O(log of what is mapped).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/device.h"

namespace tidemark {

class ProcessDevice final : public Device {
  public:
    static constexpr Bytes kGranularity = 2_MiB;

    // Errors (driver): the system has no memory files.
    static Result<std::unique_ptr<ProcessDevice>> open(Bytes capacity);
    ~ProcessDevice() override;

    std::string_view name() const override { return "simulated, in this process"; }

    bool has(Feature feature) const override;

    Bytes granularity() const override { return kGranularity; }

    MemoryInfo memory() const override;

    Nanoseconds now() const override { return 0; }

    const DeviceCounters& counters() const override { return counters_; }

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
    struct Physical {
        std::uint64_t offset = 0;  // in the file
        Bytes size = 0;
        std::uint32_t mappings = 0;
        bool released = false;
    };

    struct Mapping {
        Bytes size = 0;
        PhysicalId physical{};
        bool readable = false;
        bool writable = false;
    };

    ProcessDevice(int file, Bytes capacity) : file_(file), capacity_(capacity), free_(capacity) {}

    bool reaches(Address address, Bytes size, bool write) const;
    void drop(PhysicalId id);

    const int file_;  // physical memory, in pieces
    const Bytes capacity_;
    DeviceCounters counters_;
    mutable std::mutex mutex_;  // guards what follows
    Bytes free_;
    std::map<Address, Bytes> plain_;
    std::map<Address, Bytes> host_;
    std::map<Address, Bytes> reserved_;
    std::map<Address, Mapping> mappings_;
    std::map<PhysicalId, Physical> physicals_;
    std::map<Bytes, std::vector<std::uint64_t>> vacant_;  // offsets in the file, by size
    std::uint64_t file_end_ = 0;
    std::uint64_t last_physical_ = 0;
    std::uint64_t last_event_ = 0;
};

}  // namespace tidemark
