// CudaDevice: one NVIDIA GPU as a Device, on the CUDA driver API.
//
// The device's primary context is retained while a CudaDevice lives, so memory, streams and graphs
// are shared with whatever else in the process uses the runtime API. Each call makes the context
// current on its thread, if it is not, and puts back the one that was.
//
// Thread-safety: every call from any thread; work on one stream is ordered by the caller. The
// exceptions are `counters()`, which is to be read while no other thread calls, and captures, whose
// begin and end must come from one thread.
//
// Errors: the driver's code is kept as `native_code`, and `explain` says the function and its
// arguments. After a sticky error (a kernel fault, a destroyed context) every call that would reach
// the driver is refused as `lost`. The destructor gives back what the device made for itself
// (streams, events, graphs, its pool), whatever state the context or the driver is in; memory and
// mappings belong to who asked for them. Of a lost device it also gives back virtual memory, which
// survives its context, and which nobody else can give back any more.
//
// What each group is:
//   plain memory      cuMemAlloc, cuMemFree. The driver waits inside a free and does not say how
//                     long, so that wait is counted as driver time, not as a stall.
//   stream-ordered    a pool of this device's own, so that the thresholds of other libraries that
//                     use the default pool stay as they are. Its threshold begins at 0.
//   virtual memory    `create` on Kind::device is this device whatever the index, on Kind::host a
//                     NUMA node of the host. PhysicalIds count from 1 and are never reused.
//                     `set_access` speaks for this device, `set_access_for` for another one, by its
//                     ordinal; neither touches the access of the others.
//   streams           StreamId 0 is the legacy default stream; others are made at first use and do
//                     not synchronize with it. A program's own streams join with `adopt`.
//   points            per stream in order: when one has passed, so have all before it, and asking
//                     about those costs no driver call. Their native events are recycled and made
//                     without timing. A stream keeps at most kPointsMax unfinished ones apart: past
//                     that every second is merged into its successor, and reads as passed a little
//                     later than it was. A point recorded on a captured stream lies in no queue: it
//                     orders the captured work, and once the capture is over it reads as a real
//                     point beside it.
//   captures          in thread-local mode. While any known stream captures, `complete`,
//                     `check_pattern`, what synchronizes, frees or trims is refused before
//                     they reach the driver, for which a query can be enough to spoil the capture;
//                     calls that make memory are let through in relaxed mode. A capture of a stream
//                     that this device has never seen goes unnoticed until the driver refuses.
//   time              `now` and the counters read the steady clock. What `synchronize`,
//                     `check_pattern` and a `complete` that awaits have waited is `stall_ns`, not
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
        false;  // `complete` waits instead of saying no: the same decisions each run
    bool track_memory = false;  // after each growing call ask how much is free: see lowest_free()
};

class CudaDevice final : public Device {
  public:
    // Retains the primary context of `config.ordinal`. Errors: not_found for an ordinal that there
    // is not, unsupported for a feature asked for that the device lacks, driver for the rest.
    static Result<std::unique_ptr<CudaDevice>> open(std::shared_ptr<const CudaDriver> driver,
                                                    const CudaConfig& config);

    ~CudaDevice() override;

    int ordinal() const { return info_.ordinal; }

    const CudaDriver& driver() const { return *driver_; }

    const CudaDeviceInfo& info() const { return info_; }

    // The primary context, for callers that make driver calls of their own.
    cuda::CUcontext native_context() const;

    // A stream of the program's, by its CUstream or cudaStream_t. The same handle gives the same
    // StreamId until it is disowned; null and the legacy handle (1) are the default stream. Ids are
    // counted from kFirstAdopted. O(1), no driver call.
    static constexpr std::uint32_t kFirstAdopted = 0x8000'0000;
    StreamId adopt(std::uintptr_t native);

    // A stream of the program's that it may destroy whenever none of its calls is about it. The
    // handle is used while a CudaVisit says so, on that thread alone; what was queued on it before
    // is known by what was noted then. The same handle gives the same StreamId, the first free one
    // from `first` on; null and 1 are the default stream. O(1), no driver call.
    StreamId borrow(std::uintptr_t native, StreamId first);

    // From now on it is as one that was adopted: it lives until it is disowned. O(1).
    void keep(StreamId stream);

    // The program is about to destroy a stream that it had adopted here. Points already recorded
    // on it can still be asked for; the StreamId takes no more work (invalid_value).
    void disown(StreamId stream);

    // The CUstream of `stream`, made now if it was not yet, for work that the program queues
    // itself.
    DeviceResult<std::uintptr_t> native(StreamId stream);

    // From now on the device `ordinal` reads and writes this one's virtual memory wherever this one
    // may: what is mapped now, and what will be. Errors: not_supported: that device cannot reach
    // this one; as set_access_for. O(mappings).
    DeviceResult<void> open_to(int ordinal);

    // The least free memory of the device that any growing call has left behind, as cuMemGetInfo
    // says; what was free at open before the first. Needs CudaConfig::track_memory, else 0.
    Bytes lowest_free() const;

    // How many native events exist, in use or waiting to be used again.
    std::size_t native_events() const;

    // As end_capture; `auto_free` lets a graph that allocates be launched again without its memory
    // having been freed (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH).
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

    // A call that must not be made while a stream is captured, and one that then needs relaxing.
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

    // Does `address` lie in pinned or registered host memory of this device?
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

    mutable std::mutex mutex_;  // of what follows
    cuda::CUmemoryPool pool_ = nullptr;
    std::map<Address, Bytes> host_ranges_;  // pinned and registered
};

}  // namespace tidemark
