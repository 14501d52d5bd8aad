// CudaDevice: one NVIDIA GPU as a Device, on the CUDA driver API.
//
// The device's primary context is retained as long as a CudaDevice exists, so memory, streams and
// graphs are shared with everything else in the process that uses the runtime API. Each call makes
// the context current on its thread, if it is not, and restores the previous one.
//
// Thread-safety: every call from any thread; the caller orders work on one stream. The exceptions
// are `counters()`, which may be read only while no other thread makes calls, and captures, which
// must begin and end on the same thread.
//
// Errors: the driver's code is kept as `native_code`, and `explain` names the function and its
// arguments. After a sticky error (a kernel fault, a destroyed context) every call that would reach
// the driver is refused as `lost`. The destructor releases what the device made for itself
// (streams, events, graphs, its pool), whatever state the context or the driver is in; memory and
// mappings belong to whoever requested them. For a lost device it also releases virtual memory,
// which survives its context, and which nobody else can release any longer.
//
// How each group is implemented:
//   plain memory      cuMemAlloc, cuMemFree. The driver waits inside a free and does not report how
//                     long, so that wait is counted as driver time, not as a stall.
//   stream-ordered    a pool of this device's own, so that the thresholds of other libraries that
//                     use the default pool stay as they are. Its threshold is 0 at the start.
//   virtual memory    `create` on Kind::device is this device whatever the index, on Kind::host a
//                     NUMA node of the host. PhysicalIds count from 1 and are never reused.
//                     `set_access` applies to this device, `set_access_for` to another one, by its
//                     ordinal; neither changes the access of the others.
//   streams           StreamId 0 is the legacy default stream; others are made at first use and do
//                     not synchronize with it. A program's own streams join with `adopt`.
//   points            per stream in order: when one has passed, so have all before it, and checking
//                     those costs no driver call. Their native events are recycled and made
//                     without timing. A stream keeps at most kPointsMax unfinished ones separate:
//                     beyond that every second one is merged into its successor, and is reported
//                     as passed a little late. A point recorded on a captured stream is in no
//                     queue:
//                     it orders the captured work, and once the capture has ended it is reported
//                     like a real point next to it.
//   captures          in thread-local mode. While any known stream captures, `complete`,
//                     `check_pattern`, and everything that synchronizes, frees or trims is refused
//                     before it reaches the driver, where even a query can spoil the capture; calls
//                     that make memory are allowed in relaxed mode. A capture of a stream that this
//                     device has never seen goes unnoticed until the driver refuses.
//   time              `now` and the counters read the steady clock. The waiting time of
//                     `synchronize`, `check_pattern` and a `complete` that waits is `stall_ns`, not
//                     `call_ns`; the synchronization of an idle stream is driver time, that of the
//                     device always a stall.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "backends/cuda/cuda_holdings.h"
#include "backends/cuda/cuda_info.h"
#include "backends/cuda/cuda_table.h"
#include "backends/cuda/driver.h"
#include "core/device/device.h"

namespace tidemark {

class CudaCall;
class CudaContent;
class CudaContext;
class CudaStreams;

struct CudaConfig {
    int ordinal = 0;
    bool await_events =
        false;  // `complete` waits instead of refusing: the same decisions in each run
    // after each growing call, query how much is free: see lowest_free()
    bool track_memory = false;
};

class CudaDevice final : public Device {
  public:
    // Retains the primary context of `config.ordinal`. Errors: not_found for an ordinal that does
    // not exist, unsupported for a requested feature that the device lacks, driver for the rest.
    static Result<std::unique_ptr<CudaDevice>> open(std::shared_ptr<const CudaDriver> driver,
                                                    const CudaConfig& config);

    ~CudaDevice() override;

    int ordinal() const { return info_.ordinal; }

    const CudaDriver& driver() const { return *driver_; }

    const CudaDeviceInfo& info() const { return info_; }

    // The primary context, for callers that make their own driver calls.
    cuda::CUcontext native_context() const;

    // One of the program's streams, by its CUstream or cudaStream_t. The same handle gives the same
    // StreamId until it is disowned; null and the legacy handle (1) are the default stream. Ids are
    // counted from kFirstAdopted. O(1), no driver call.
    static constexpr std::uint32_t kFirstAdopted = 0x8000'0000;
    StreamId adopt(std::uintptr_t native);

    // One of the program's streams that it may destroy whenever none of its calls uses it. The
    // handle is used while a CudaVisit says so, only on that thread; what was queued on it before
    // is known from the notes made then. The same handle gives the same StreamId, the first free
    // one from `first` on; null and 1 are the default stream. O(1), no driver call.
    StreamId borrow(std::uintptr_t native, StreamId first);

    // From now on it counts as adopted: it exists until it is disowned. O(1).
    void keep(StreamId stream);

    // The program is about to destroy a stream that it had adopted here. Points already recorded on
    // it can still be queried; the StreamId takes no more work (invalid_value).
    void disown(StreamId stream);

    // The CUstream of `stream`, made now if necessary, for work that the program queues itself.
    DeviceResult<std::uintptr_t> native(StreamId stream);

    // From now on the device `ordinal` reads and writes this one's virtual memory wherever this one
    // may: present and future mappings. Errors: not_supported: that device cannot reach this one;
    // as set_access_for. O(mappings).
    DeviceResult<void> open_to(int ordinal);

    // The least free memory of the device after any growing call, as cuMemGetInfo reports it;
    // before the first such call, what was free at open. Needs CudaConfig::track_memory, else 0.
    Bytes lowest_free() const;

    // The number of native events, in use or waiting to be reused.
    std::size_t native_events() const;

    // Like end_capture; with `auto_free` a graph that allocates can be launched again without
    // freeing its memory first (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH).
    DeviceResult<GraphId> end_capture(StreamId stream, bool auto_free);

    std::string_view name() const override { return info_.name; }

    bool has(Feature feature) const override;

    Bytes granularity() const override;
    MemoryInfo memory() const override;
    Nanoseconds now() const override;
    const DeviceCounters& counters() const override;
    Error explain(const DeviceError& error) const override;

    DeviceResult<Address> malloc(Bytes size) override;
    DeviceResult<void> free(Address address) override;

    DeviceResult<Address> malloc_async(Bytes size, StreamId stream) override;
    DeviceResult<void> free_async(Address address, StreamId stream) override;
    DeviceResult<void> set_pool_threshold(Bytes threshold) override;
    DeviceResult<void> trim_pool(Bytes keep) override;
    Bytes pool_held() const override;

    DeviceResult<Range> reserve(Bytes size) override;
    DeviceResult<void> unreserve(Range range) override;
    DeviceResult<PhysicalId> create(Location where, Bytes size) override;
    DeviceResult<void> release(PhysicalId physical) override;
    DeviceResult<void> map(Range range, PhysicalId physical) override;
    DeviceResult<void> unmap(Range range) override;
    DeviceResult<void> set_access(Range range, bool writable) override;
    DeviceResult<void> set_access_for(Location who, Range range, bool writable) override;

    DeviceResult<EventId> record(StreamId stream) override;
    DeviceResult<bool> complete(EventId event) override;
    DeviceResult<void> wait(StreamId stream, EventId event) override;
    DeviceResult<void> synchronize(StreamId stream) override;
    DeviceResult<void> synchronize_device() override;
    bool capturing() const override;
    std::uint64_t replaced_streams() const override;

    DeviceResult<void> begin_capture(StreamId stream) override;
    DeviceResult<GraphId> end_capture(StreamId stream) override;
    DeviceResult<void> launch(GraphId graph, StreamId stream) override;
    DeviceResult<void> destroy_graph(GraphId graph) override;

    DeviceResult<void> copy(Address target, Address source, Bytes size, StreamId stream) override;
    DeviceResult<void> fill(Address target, std::uint8_t value, Bytes size,
                            StreamId stream) override;
    DeviceResult<void> copy_batch(std::span<const CopyRange> copies, StreamId stream) override;
    DeviceResult<void> write_pattern(Address target, std::uint32_t pattern, Bytes size,
                                     StreamId stream) override;
    DeviceResult<Bytes> check_pattern(Address target, std::uint32_t pattern, Bytes size,
                                      StreamId stream) override;

    DeviceResult<Address> host_malloc(Bytes size) override;
    DeviceResult<void> host_free(Address address) override;
    DeviceResult<void> host_register(Range range) override;
    DeviceResult<void> host_unregister(Address address) override;

    DeviceResult<IpcHandle> ipc_export(Address address) override;
    DeviceResult<Address> ipc_open(const IpcHandle& handle) override;
    DeviceResult<void> ipc_close(Address address) override;
    DeviceResult<Range> address_range(Address address) const override;

  private:
    friend class CudaVisit;

    CudaDevice(std::shared_ptr<const CudaDriver> driver, const CudaConfig& config,
               CudaDeviceInfo info, std::unique_ptr<CudaContext> context);

    // A call that must not be made while a stream is captured, and one that needs relaxing then.
    DeviceResult<void> refuse_while_capturing(CudaCall& call) const;
    void relax_while_capturing(CudaCall& call) const;

    // The pool of this device, made at its first use.
    DeviceResult<cuda::CUmemoryPool> pool(CudaCall& call);

    DeviceResult<void> grant(CudaCall& call, int ordinal, Range range, bool writable);

    DeviceResult<cuda::CUstream> native_of(CudaCall& call, StreamId stream);

    DeviceResult<void> queue_batch(CudaCall& call, std::span<const CopyRange> copies,
                                   cuda::CUstream stream);

    DeviceResult<void> give_back_host(CudaCall& call, Address address,
                                      const CudaSymbol<cuda::CUresult(void*)>& function);

    // Is `address` in pinned or registered host memory of this device?
    bool on_host(Address address) const;
    void count_copy(Address target, Address source, Bytes size);

    std::shared_ptr<const CudaDriver> driver_;
    CudaConfig config_;
    CudaDeviceInfo info_;
    std::unique_ptr<CudaContext> context_;
    std::unique_ptr<CudaStreams> streams_;
    std::unique_ptr<CudaContent> content_;

    CudaHoldings holdings_;
    mutable std::mutex opened_mutex_;
    std::vector<int> opened_to_;  // ordinals
    CudaTable<cuda::CUmemHandle> physicals_;
    CudaTable<cuda::CUgraphExec> graphs_;

    mutable std::mutex mutex_;  // guards what follows
    cuda::CUmemoryPool pool_ = nullptr;
    std::map<Address, Bytes> host_ranges_;  // pinned and registered
};

}  // namespace tidemark
