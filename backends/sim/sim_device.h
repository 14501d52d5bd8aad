// SimDevice: a simulated GPU. Deterministic: the same calls give the same answers, addresses and
// times on every machine.
//
// Memory: capacity is counted exactly: plain memory rounded up to 512 bytes, handles of physical
// memory, and what the stream-ordered pool holds. Plain memory, the pool, host memory and
// reservations have address ranges of their own, which never overlap, so an address shows its kind.
// As with the driver, reservations are below the plain memory that is placed in the driver's order,
// and each begins where the last one ended, rounded up to 32 MiB. Every call refuses what the CUDA
// driver would refuse, and then changes nothing but its counter.
//
// Time: see VirtualClock. Each call costs what the profile says; a refused call costs nothing.
// `free`, `synchronize` and `synchronize_device` wait for queued work, and the wait is counted as a
// stall; at the latter two the pool releases what it holds beyond its threshold.
//
// Content: with `backed`, memory holds bytes. They move when fill and copy are called, in the order
// of the calls: streams order time, not content (the checker, backends/wrap/checked.h, finds out
// whether the program ordered them correctly).
//
// Graphs: see sim_graphs.cpp. A launch costs what the profile says for its number of steps, taken
// as bytes.
//
// Not thread-safe. O(1) for plain memory in slots and order; logarithmic in live ranges for the
// rest.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/sim/clock.h"
#include "backends/sim/costs.h"
#include "backends/sim/driver_placement.h"
#include "backends/sim/graph_memory.h"
#include "backends/sim/graphs.h"
#include "backends/sim/memory.h"
#include "backends/sim/plain_memory.h"
#include "backends/sim/virtual_memory.h"
#include "core/device/device.h"
#include "core/regions/driver_pool.h"

namespace tidemark {

// Where plain memory of at least DriverPlacement::kUnit is put; smaller memory always has slots.
enum class Placement : std::uint8_t {
    slots,   // anywhere, quickly: see PlainMemory
    driver,  // in the order of addresses that the CUDA driver gives: see DriverPlacement
};

struct SimConfig {
    Bytes capacity = 0;                    // 0 = the profile's; at most SimDevice::kLargestCapacity
    Bytes held = 0;                        // of it, by others, permanently: below the capacity
    Bytes granularity = 2_MiB;             // a power of two, at least 512
    const CostProfile* profile = nullptr;  // must outlive the device; null = free of cost
    bool backed = false;                   // memory holds bytes
    Bytes host_capacity = 2048_GiB;        // available pinned host memory
    Placement placement = Placement::slots;
    LateHole late_hole = {};    // with Placement::driver
    bool await_events = false;  // complete() waits instead of finding that work is pending
    std::uint16_t peers = 0;  // other devices that can be given access: Location{device, 1} and on
    bool auto_free = false;   // a launch first frees what the last one left in graph memory
};

class SimDevice final : public Device {
  public:
    static constexpr Bytes kLargestCapacity = Bytes{1} << 46;
    static constexpr Address kFirstAddress{0x302000000};

    // A configuration out of its bounds is the caller's defect (TM_CHECK).
    explicit SimDevice(const SimConfig& config);

    // A copy of the device in the same state, with content and clock, and independent of it.
    // O(state).
    std::unique_ptr<SimDevice> clone() const;

    // The device's clock as a replay sees it.
    ReplayClock* replay_clock() { return clock_.replay_clock(); }

    // Queues a kernel that takes `duration`; captured work takes no time.
    void queue_kernel(StreamId stream, Nanoseconds duration);

    // Waits for one event, as `synchronize` does for a stream.
    DeviceResult<void> await(EventId event);

    // With Placement::driver, addresses are handed out from the upper end of this span on.
    Range placement_span() const;

    // What the context takes for itself: memory (all of it if less is free), and addresses, with
    // Placement::driver. Neither is ever freed.
    void hold(Bytes memory, Bytes addresses);

    // See LateHole.
    void open_late_hole() { driver_.open_late_hole(); }

    // Direct access to content, for tests: takes no time. Only with `backed` (else not_supported);
    // invalid_value outside live memory.
    DeviceResult<void> read(Address address, std::span<std::byte> target) const;
    DeviceResult<void> write(Address address, std::span<const std::byte> source);

    std::string_view name() const override { return name_; }

    bool has(Feature feature) const override;

    Bytes granularity() const override { return config_.granularity; }

    MemoryInfo memory() const override { return {config_.capacity, free_}; }

    Nanoseconds now() const override { return clock_.now(); }

    const DeviceCounters& counters() const override { return counters_; }

    DeviceResult<Address> malloc(Bytes size) override {
        count(DeviceCall::malloc);
        if (size - 1 >= free_) [[unlikely]]  // 0 wraps around
            return refuse(DeviceCall::malloc,
                          size == 0 ? DeviceStatus::invalid_value : DeviceStatus::out_of_memory);
        const Bytes rounded = align_up(size, PlainMemory::kUnit);
        if (rounded > free_) [[unlikely]]
            return refuse(DeviceCall::malloc, DeviceStatus::out_of_memory);
        if (config_.placement == Placement::driver && rounded >= DriverPlacement::kUnit)
            return malloc_driver(rounded);
        free_ -= rounded;
        charge(DeviceCall::malloc, rounded);
        if (rounded < kDriverPage)
            take_small(rounded);
        return plain_.take(rounded);
    }

    DeviceResult<void> free(Address address) override {
        count(DeviceCall::free);
        if (capturing()) [[unlikely]]
            return refuse(DeviceCall::free, DeviceStatus::not_permitted);
        const bool placed = config_.placement == Placement::driver && driver_.covers(address);
        const Bytes size = placed ? driver_.give(address) : plain_.give(address);
        if (size == 0) [[unlikely]]
            return free_graph_memory(address);
        free_ += size;
        stall(clock_.drain_all());
        charge(DeviceCall::free, size);
        if (size < kDriverPage)
            give_small(size);
        if (config_.backed) [[unlikely]]
            store_.drop({address, size});
        return {};
    }

    DeviceResult<Address> malloc_async(Bytes size, StreamId stream) override;
    DeviceResult<void> free_async(Address address, StreamId stream) override;
    DeviceResult<void> set_pool_threshold(Bytes threshold) override;
    DeviceResult<void> trim_pool(Bytes keep) override;

    Bytes pool_held() const override { return pool_.held(); }

    DeviceResult<Range> reserve(Bytes size) override;
    DeviceResult<void> unreserve(Range range) override;
    DeviceResult<PhysicalId> create(Location where, Bytes size) override;
    DeviceResult<void> release(PhysicalId physical) override;
    DeviceResult<void> map(Range range, PhysicalId physical) override;
    DeviceResult<void> unmap(Range range) override;
    DeviceResult<void> set_access(Range range, bool writable) override;
    DeviceResult<void> set_access_for(Location who, Range range, bool writable) override;

    // May the device `who` read, or write, all of the range? For tests: takes no time.
    bool reachable_by(Location who, Range range, bool write) const;

    DeviceResult<EventId> record(StreamId stream) override;
    DeviceResult<bool> complete(EventId event) override;
    DeviceResult<void> wait(StreamId stream, EventId event) override;
    DeviceResult<void> synchronize(StreamId stream) override;
    DeviceResult<void> synchronize_device() override;

    bool capturing() const override { return !recordings_.empty(); }

    DeviceResult<void> begin_capture(StreamId stream) override;
    DeviceResult<GraphId> end_capture(StreamId stream) override;
    DeviceResult<void> launch(GraphId graph, StreamId stream) override;
    DeviceResult<void> destroy_graph(GraphId graph) override;

    DeviceResult<void> copy(Address target, Address source, Bytes size, StreamId stream) override;
    DeviceResult<void> fill(Address target, std::uint8_t value, Bytes size,
                            StreamId stream) override;
    DeviceResult<void> write_pattern(Address target, std::uint32_t pattern, Bytes size,
                                     StreamId stream) override;
    DeviceResult<Bytes> check_pattern(Address target, std::uint32_t pattern, Bytes size,
                                      StreamId stream) override;

    DeviceResult<Address> host_malloc(Bytes size) override;
    DeviceResult<void> host_free(Address address) override;

  private:
    SimDevice(const SimDevice&) = default;

    void count(DeviceCall call) { ++counters_.calls[static_cast<std::size_t>(call)]; }

    void charge(DeviceCall call, Bytes bytes) { spend(call, profile_->cost(call, bytes)); }

    void spend(DeviceCall call, Nanoseconds cost) {
        counters_.call_ns[static_cast<std::size_t>(call)] += cost;
        clock_.spend(cost);
    }

    void stall(Nanoseconds duration) {
        if (duration != 0) [[unlikely]]
            counters_.stall_ns += duration;
    }

    static tl::unexpected<DeviceError> refuse(DeviceCall call, DeviceStatus status) {
        return tl::make_unexpected(DeviceError{status, call, 0});
    }

    // The driver's pages for small plain memory, only by their bytes: one more when these do not
    // fit, one less when two fewer would be enough. A cost in time; capacity is counted in pieces.
    void take_small(Bytes size) {
        small_ += size;
        if (small_ > small_pages_) [[unlikely]] {
            small_pages_ += kDriverPage;
            spend(DeviceCall::malloc, profile_->page_open);
        }
    }

    void give_small(Bytes size) {
        small_ -= size;
        if (small_pages_ - small_ >= 2 * kDriverPage) [[unlikely]] {
            small_pages_ -= kDriverPage;
            spend(DeviceCall::free, profile_->page_close);
        }
    }

    DeviceResult<Address> malloc_driver(Bytes size);
    std::optional<Nanoseconds> cost_of_mappings(DeviceCall call, Range range) const;
    void synchronized(DeviceCall call, Nanoseconds stalled, Bytes given_back);
    void take_back(Range freed);
    void queue(StreamId stream, const GraphStep& movement);
    void perform(const GraphStep& movement);

    Recording* recording_of(StreamId stream);
    bool usable(StreamId stream, Address address, Bytes size, bool write);
    void drop(const Recording& recording);
    DeviceResult<Address> malloc_captured(Bytes size, StreamId stream, Recording& recording);
    DeviceResult<void> free_graph_memory(Address address);
    std::optional<Bytes> give_graph_memory(Address address, StreamId stream);
    bool ties_capture(StreamId stream, EventId event);
    bool wait_captured(StreamId stream, EventId event);
    bool reaches(const Graph& graph, const GraphStep& step) const;
    bool leaves_memory(const Graph& graph) const;
    std::optional<GraphMemory::SlabId> slab_for(const Graph& graph, GraphId id, StreamId stream);
    void run(Graph& graph, GraphId id, std::optional<GraphMemory::SlabId> slab);
    void trim_graph_memory();

    Range piece_at(Address address, Bytes size, bool write) const;
    bool accessible(Address address, Bytes size, bool write) const;
    void move_bytes(Address target, Address source, Bytes size);
    template <class Visit>
    void for_each_piece(Address address, Bytes size, bool write, Visit visit) const;

    SimConfig config_;
    std::string name_;
    const CostProfile* profile_;
    Bytes free_;
    VirtualClock clock_;
    DeviceCounters counters_;
    PlainMemory plain_;
    Bytes small_ = 0;        // plain memory below kDriverPage
    Bytes small_pages_ = 0;  // of the pages that hold it
    DriverPool pool_;
    AddressSpace host_;
    Bytes host_free_;
    VirtualMemory virtual_;
    DriverPlacement driver_;
    ByteStore store_;
    std::vector<Recording> recordings_;
    std::map<std::uint64_t, Graph> graphs_;
    std::uint64_t graph_count_ = 0;
    GraphMemory graph_memory_;
};

}  // namespace tidemark
