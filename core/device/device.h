// Device: the interface of one GPU: its memory, streams, graphs and copies. Allocators, tiers and
// the replay engine reach a machine only through it.
//
// The simulator (backends/sim) and a CUDA GPU (backends/cuda) implement it, as well as wrappers of
// another Device that check every call, inject faults or record (backends/wrap). A backend
// implements the groups of calls that `has()` names; a call of another group returns
// DeviceStatus::not_supported.
//
// Errors are values: a closed enum, the native code, and the call's name. Out of memory is an
// ordinary error. A call that fails has changed nothing. Sizes are in bytes, which the device
// rounds up where a group says so. Thread-safety: backends for real hardware may be called from any
// thread; the simulator from one thread. Costs are those of the device: see its profile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// Groups of calls that a device may or may not have.
enum class Feature : std::uint8_t {
    virtual_memory,
    async_pool,
    host_memory,
    copies,
    patterns,       // write_pattern, check_pattern
    capture,        // graphs
    peer_access,    // set_access_for
    shared_memory,  // with other processes: ipc_export and related calls
};

// The calls, by name: profiles price them, counters count them, and failure injection targets them.
enum class DeviceCall : std::uint16_t {
    malloc,
    free,
    malloc_async,
    free_async,
    set_pool_threshold,
    trim_pool,
    reserve,
    unreserve,
    create,
    release,
    map,
    unmap,
    set_access,
    record,
    complete,
    wait,
    synchronize,
    synchronize_device,
    copy,
    fill,
    host_malloc,
    host_free,
    host_register,
    host_unregister,
    set_access_for,
    copy_batch,
    write_pattern,
    check_pattern,
    begin_capture,
    end_capture,
    launch,
    destroy_graph,
    ipc_export,
    ipc_open,
    ipc_close,
    address_range,
};
constexpr int kDeviceCallCount = static_cast<int>(DeviceCall::address_range) + 1;

// "malloc", "synchronize_device", ...: stable names, used in JSON, profiles and --fail-at.
std::string_view to_text(DeviceCall call);

enum class DeviceStatus : std::uint16_t {
    out_of_memory,  // physical memory is used up: ordinary
    address_space,  // no room for a reservation
    invalid_value,  // an argument that the device cannot take (unknown address, bad alignment)
    not_permitted,  // while a graph is captured
    not_supported,  // see Feature
    lost,           // a kernel faulted or the context is gone: no further call will succeed
    fault,          // anything else that the driver reports
};

std::string_view to_text(DeviceStatus status);

// Why a device refused. Without padding, so that it is copied as one word.
struct DeviceError {
    DeviceStatus status = DeviceStatus::fault;
    DeviceCall call = DeviceCall::malloc;
    std::int32_t native_code = 0;  // the driver's own number; 0 on the simulator
};

static_assert(sizeof(DeviceError) == 8);

// A value or a DeviceError, with the parts of tl::expected's interface that are needed. The error
// is always present (its status says whether it counts), so a result consists of whole words and is
// returned in registers. tl::expected's flag is a byte that is written to memory and read back as
// part of a wider word: a stall of 2 ns on every call that a fast allocator makes.
template <class T>
class DeviceResult;

template <>
class DeviceResult<void> {
  public:
    constexpr DeviceResult() = default;

    constexpr DeviceResult(const tl::unexpected<DeviceError>& refusal) : error_(refusal.value()) {}

    constexpr bool has_value() const { return error_.status == kNone; }

    constexpr explicit operator bool() const { return has_value(); }

    // Only if there is no value.
    constexpr const DeviceError& error() const { return error_; }

  private:
    static constexpr DeviceStatus kNone{0xffff};  // no status that a device reports

    DeviceError error_{kNone, DeviceCall::malloc, 0};
};

template <class T>
class DeviceResult {
  public:
    constexpr DeviceResult(const T& value) : value_(value) {}

    constexpr DeviceResult(const tl::unexpected<DeviceError>& refusal) : outcome_(refusal) {}

    constexpr bool has_value() const { return outcome_.has_value(); }

    constexpr explicit operator bool() const { return has_value(); }

    // Only if there is a value.
    constexpr const T& operator*() const { return value_; }

    constexpr const T* operator->() const { return &value_; }

    constexpr const T& value() const { return value_; }

    constexpr T value_or(const T& otherwise) const { return has_value() ? value_ : otherwise; }

    // Only if there is none.
    constexpr const DeviceError& error() const { return outcome_.error(); }

  private:
    T value_{};
    DeviceResult<void> outcome_;
};

// The error as an Error for a person: "cudaMalloc: out of memory (2)" with a hint.
Error to_error(const DeviceError& error);

// Where physical memory is: which kind of store, and which one of that kind.
struct Location {
    enum class Kind : std::uint8_t { device, host, disk };
    Kind kind = Kind::device;
    std::uint16_t index = 0;
};

struct MemoryInfo {
    Bytes total = 0;
    Bytes free = 0;
};

// One movement of a batch.
struct CopyRange {
    Address target = Address::null;
    Address source = Address::null;
    Bytes size = 0;
};

// Names plain memory to another process; opaque.
struct IpcHandle {
    std::array<std::byte, 64> bytes{};

    friend bool operator==(const IpcHandle&, const IpcHandle&) = default;
};

// How often each call was made, how long the calls took in total on the device's clock, and how
// many bytes moved. Plain counters; `stall_ns` is the part of the time spent waiting for queued
// work to finish.
struct DeviceCounters {
    std::uint64_t calls[kDeviceCallCount] = {};
    Nanoseconds call_ns[kDeviceCallCount] = {};
    Nanoseconds stall_ns = 0;
    Bytes copied_to_host = 0;
    Bytes copied_to_device = 0;
    Bytes copied_on_device = 0;

    std::uint64_t total_calls() const;  // O(kDeviceCallCount)
    Nanoseconds total_ns() const;       // driver time: all calls, without stalls
};

class Device {
  public:
    Device() = default;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    // Information. O(1), costs nothing, never fails.
    virtual std::string_view name() const = 0;
    virtual bool has(Feature feature) const = 0;
    virtual Bytes granularity() const = 0;  // of physical memory and mappings; a power of two
    virtual MemoryInfo memory() const = 0;
    virtual Nanoseconds now() const = 0;  // virtual on the simulator, steady elsewhere
    virtual const DeviceCounters& counters() const = 0;

    // This device's error for a person: with the driver's name for it, and its call and arguments
    // if the device still knows them.
    virtual Error explain(const DeviceError& error) const { return to_error(error); }

    // Plain memory, synchronous (cudaMalloc, cudaFree). Addresses are at least multiples of 512
    // bytes. `malloc(0)` is invalid_value. `free` first waits for all queued work of the device.
    virtual DeviceResult<Address> malloc(Bytes size) = 0;
    virtual DeviceResult<void> free(Address address) = 0;

    // Stream-ordered memory (Feature::async_pool). Memory freed on a stream may be handed out again
    // immediately on that stream, and on others once the point of the free has passed. The pool
    // releases what it holds beyond its threshold at a synchronization, or down to `keep` at
    // `trim_pool`.
    virtual DeviceResult<Address> malloc_async(Bytes size, StreamId stream) = 0;
    virtual DeviceResult<void> free_async(Address address, StreamId stream) = 0;
    virtual DeviceResult<void> set_pool_threshold(Bytes threshold) = 0;
    virtual DeviceResult<void> trim_pool(Bytes keep) = 0;

    // What that pool holds of the device's memory, used or not. Information: O(1), costs nothing; 0
    // where it is not known.
    virtual Bytes pool_held() const { return 0; }

    // Virtual memory (Feature::virtual_memory). Every size and address is a multiple of
    // granularity(). A handle may be mapped more than once; its memory is freed when it is released
    // and no longer mapped. Each mapping is unmapped as a whole; one call may unmap several. A
    // reservation must have no mapping left when it is unreserved.
    virtual DeviceResult<Range> reserve(Bytes size) = 0;
    virtual DeviceResult<void> unreserve(Range range) = 0;
    virtual DeviceResult<PhysicalId> create(Location where, Bytes size) = 0;
    virtual DeviceResult<void> release(PhysicalId physical) = 0;
    virtual DeviceResult<void> map(Range range, PhysicalId physical) = 0;
    virtual DeviceResult<void> unmap(Range range) = 0;
    virtual DeviceResult<void> set_access(Range range, bool writable) = 0;

    // The same as set_access, for another device (Feature::peer_access), which must be able to
    // reach this one.
    virtual DeviceResult<void> set_access_for(Location who, Range range, bool writable);

    // Order between streams. `record` marks the current end of the work that was queued on
    // `stream`; `complete` checks without waiting whether that point has passed; after `wait`,
    // whatever is queued on `stream` from now on runs after the event. Event ids are never reused.
    virtual DeviceResult<EventId> record(StreamId stream) = 0;
    virtual DeviceResult<bool> complete(EventId event) = 0;
    virtual DeviceResult<void> wait(StreamId stream, EventId event) = 0;
    virtual DeviceResult<void> synchronize(StreamId stream) = 0;
    virtual DeviceResult<void> synchronize_device() = 0;
    virtual bool capturing() const = 0;  // is any stream being captured into a graph?

    // How often a StreamId became the id of another stream, where the program destroys streams and
    // makes new ones: work that was queued on the former stream says nothing about the new one.
    // O(1).
    virtual std::uint64_t replaced_streams() const { return 0; }

    // Graphs (Feature::capture). Work that is queued on a captured stream is not run but recorded,
    // with its addresses, and runs at each `launch`. While any stream is captured, calls that wait
    // or ask whether work is done are not_permitted. A capture that went wrong ends in an error,
    // and the stream is no longer captured. A graph whose launch has not finished may be destroyed.
    virtual DeviceResult<void> begin_capture(StreamId stream);
    virtual DeviceResult<GraphId> end_capture(StreamId stream);
    virtual DeviceResult<void> launch(GraphId graph, StreamId stream);
    virtual DeviceResult<void> destroy_graph(GraphId graph);

    // Movement (Feature::copies), queued on `stream`. Either end may be host memory of this device.
    virtual DeviceResult<void> copy(Address target, Address source, Bytes size,
                                    StreamId stream) = 0;
    virtual DeviceResult<void> fill(Address target, std::uint8_t value, Bytes size,
                                    StreamId stream) = 0;

    // Several copies, in no particular order. After a failure some of them may be queued.
    virtual DeviceResult<void> copy_batch(std::span<const CopyRange> copies, StreamId stream);

    // Content that proves who owns memory (Feature::patterns). `write_pattern` queues a fill with a
    // word of 4 bytes, its lowest byte first. `check_pattern` waits for the stream and returns how
    // many bytes differ. `target` is a multiple of 4.
    virtual DeviceResult<void> write_pattern(Address target, std::uint32_t pattern, Bytes size,
                                             StreamId stream);
    virtual DeviceResult<Bytes> check_pattern(Address target, std::uint32_t pattern, Bytes size,
                                              StreamId stream);

    // Pinned host memory that the device can copy from and to (Feature::host_memory).
    virtual DeviceResult<Address> host_malloc(Bytes size) = 0;
    virtual DeviceResult<void> host_free(Address address) = 0;

    // Makes the program's own host memory reachable for the device, and undoes that.
    virtual DeviceResult<void> host_register(Range range);
    virtual DeviceResult<void> host_unregister(Address address);

    // Plain memory for other processes (Feature::shared_memory). `ipc_open` returns an address in
    // this process, which `ipc_close` closes; `address_range` returns the piece of memory that
    // contains an address.
    virtual DeviceResult<IpcHandle> ipc_export(Address address);
    virtual DeviceResult<Address> ipc_open(const IpcHandle& handle);
    virtual DeviceResult<void> ipc_close(Address address);
    virtual DeviceResult<Range> address_range(Address address) const;

  protected:
    Device(const Device&) = default;
};

}  // namespace tidemark
