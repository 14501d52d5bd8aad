// ScriptedDevice: a device that hands out the addresses of a script and logs its calls.
//
// A recorded run is repeated with it: the record says where the driver put each segment, and the
// model's calls are compared with it. A reservation begins where the script's next pages are.
// Beyond the script's end the device invents addresses that no real one uses, so that a model that
// requests too much can continue and be caught. Plain memory, pages and order; a stream-ordered
// pool, if one was added, decides by itself as the driver's does. Events of a stream are complete
// unless the device was told to `await` that stream. A value: copying it copies its state, but not
// the device that it mirrors its calls to. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/device/device.h"
#include "core/regions/driver_pool.h"

namespace tidemark {

class ScriptedDevice final : public Device {
  public:
    // A call that reserved or released memory: malloc, free, set_access (which ends the mapping of
    // a run of pages), unmap.
    struct Call {
        DeviceCall call = DeviceCall::malloc;
        Range range;

        friend bool operator==(const Call&, const Call&) = default;
    };

    explicit ScriptedDevice(Bytes capacity) : capacity_(capacity) {}

    ScriptedDevice(const ScriptedDevice& other);
    ScriptedDevice& operator=(const ScriptedDevice& other);

    // The expected calls, in order: mallocs and runs of pages get their addresses from it. Discards
    // the log and the rest of the former script. `refuses`: the device is out of memory wherever
    // the script, at the log's length, does not reserve memory.
    void play(std::span<const Call> script, bool refuses = false);

    // Memory that existed before the script began. Pages are released in other pieces than they
    // were mapped in, so only their sum is kept.
    void hold(Range range);

    void hold_pages(Bytes size) { used_ += size; }

    // From now on it has a stream-ordered pool (Feature::async_pool), whose addresses begin at
    // `base`.
    void add_pool(Address base) { pool_.emplace(Range{base, kPoolSpace}); }

    // The program waited for the device, or for `stream`: the pool notices.
    void synchronize_pool() { used_ -= pool_ ? pool_->synchronized(0) : 0; }

    void synchronize_pool(StreamId stream) { used_ -= pool_ ? pool_->synchronized(stream, 0) : 0; }

    // From now on events on `stream` are incomplete, until `finish` or until somebody waits for it.
    void await(StreamId stream) { awaited_.insert(to_integer(stream)); }

    void finish(StreamId stream) { awaited_.erase(to_integer(stream)); }

    bool is_awaited(StreamId stream) const { return awaited_.count(to_integer(stream)) != 0; }

    std::size_t awaited_count() const { return awaited_.size(); }

    // From now on `device` gets the same calls as this one, at addresses of its own, and this one
    // shows its clock and counters. For example, a simulator that charges each call. It must
    // outlive this one. It does not know memory that was held before: freeing that costs nothing.
    void mirror(Device& device) { mirror_ = &device; }

    // Is anything of the script or the log left?
    bool has_script() const { return !script_.empty() || !log_.empty(); }

    // What happened since `play`, in order.
    std::span<const Call> log() const { return log_; }

    std::string_view name() const override { return "scripted"; }

    bool has(Feature feature) const override {
        return feature == Feature::virtual_memory || (feature == Feature::async_pool && pool_);
    }

    Bytes granularity() const override { return 2_MiB; }

    MemoryInfo memory() const override {
        return {capacity_, capacity_ > used_ ? capacity_ - used_ : 0};
    }

    Nanoseconds now() const override { return mirror_ != nullptr ? mirror_->now() : 0; }

    const DeviceCounters& counters() const override {
        return mirror_ != nullptr ? mirror_->counters() : counters_;
    }

    DeviceResult<Address> malloc(Bytes size) override;
    DeviceResult<void> free(Address address) override;

    DeviceResult<Address> malloc_async(Bytes size, StreamId stream) override;
    DeviceResult<void> free_async(Address address, StreamId stream) override;
    DeviceResult<void> set_pool_threshold(Bytes threshold) override;
    DeviceResult<void> trim_pool(Bytes keep) override;

    Bytes pool_held() const override { return pool_ ? pool_->held() : 0; }

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
    static constexpr Bytes kPoolSpace = Bytes{1} << 44;

    // Where the mirror has what is here at `first`, and its length.
    struct Twin {
        Address first = Address::null;
        Bytes size = 0;
    };

    bool is_full(Bytes size) const;
    void add_twin(Address address, Address twin, Bytes size);
    Range twin_of(Range range) const;
    Address take_address(Bytes size);

    Bytes capacity_;
    Bytes used_ = 0;
    std::optional<DriverPool> pool_;
    std::vector<Call> script_;
    std::size_t next_ = 0;  // in the script: where the next address comes from
    bool refuses_ = false;
    std::vector<Call> log_;
    std::unordered_map<std::uint64_t, Bytes> held_;
    std::unordered_map<std::uint64_t, Bytes> unmapped_handles_;
    std::set<std::uint32_t> awaited_;  // streams
    std::uint64_t invented_ = 0;
    std::uint64_t handles_ = 0;
    DeviceCounters counters_;
    Device* mirror_ = nullptr;
    std::map<Address, Twin> twins_;  // by address
    std::unordered_map<std::uint64_t, PhysicalId> twin_handles_;
};

}  // namespace tidemark
