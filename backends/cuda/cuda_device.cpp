// CudaDevice: opening and closing, information, streams and points.
#include "backends/cuda/cuda_device.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cuda/cuda_content.h"
#include "backends/cuda/cuda_context.h"
#include "backends/cuda/cuda_streams.h"

namespace tidemark {

using cuda::CUresult;

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(std::shared_ptr<const CudaDriver> driver,
                                                     const CudaConfig& config) {
    TM_ASSIGN(CudaDeviceInfo info, cuda_device_info(*driver, config.ordinal));
    TM_ASSIGN(std::unique_ptr<CudaContext> context,
              CudaContext::open(*driver, config.ordinal, config.track_memory));
    std::unique_ptr<CudaDevice> device{
        new CudaDevice(std::move(driver), config, std::move(info), std::move(context))};
    return device;
}

CudaDevice::CudaDevice(std::shared_ptr<const CudaDriver> driver, const CudaConfig& config,
                       CudaDeviceInfo info, std::unique_ptr<CudaContext> context)
    : driver_(std::move(driver)),
      config_(config),
      info_(std::move(info)),
      context_(std::move(context)),
      streams_(std::make_unique<CudaStreams>(*context_)),
      content_(std::make_unique<CudaContent>(*context_, info_.multiprocessors)) {}

CudaDevice::~CudaDevice() {
    const CudaCurrent current{*context_};
    content_.reset();
    if (context_->lost() == CUresult::success && current.code() == CUresult::success) {
        for (cuda::CUgraphExec graph : graphs_.all())
            static_cast<void>(driver_->cuGraphExecDestroy(graph));
    }
    if (pool_ != nullptr)  // belongs to no context, so it can always be destroyed
        static_cast<void>(driver_->cuMemPoolDestroy(pool_));
    if (context_->lost() != CUresult::success) {
        holdings_.give_back(*driver_);
        for (const cuda::CUmemHandle physical : physicals_.all())
            static_cast<void>(driver_->cuMemRelease(physical));
    }
    streams_.reset();
}

cuda::CUcontext CudaDevice::native_context() const {
    return context_->native();
}

bool CudaDevice::has(Feature feature) const {
    switch (feature) {
        case Feature::virtual_memory:
            return info_.virtual_memory;
        case Feature::async_pool:
            return info_.memory_pools;
        case Feature::host_memory:
        case Feature::copies:
            return true;
        case Feature::patterns:
            return driver_->cuModuleLoadData && driver_->cuModuleGetFunction &&
                   driver_->cuLaunchKernel;
        case Feature::capture:
            return info_.graphs;
        case Feature::peer_access:
            return info_.virtual_memory && !info_.peers.empty();
        case Feature::shared_memory:
            return info_.ipc;
    }
    return false;
}

Bytes CudaDevice::granularity() const {
    constexpr Bytes kPlainGranularity = 512;  // of cuMemAlloc, if there are no mappings
    return info_.virtual_memory ? info_.granularity : kPlainGranularity;
}

MemoryInfo CudaDevice::memory() const {
    const CudaCurrent current{*context_};
    std::size_t free = 0;
    std::size_t total = 0;
    if (current.code() != CUresult::success ||
        driver_->cuMemGetInfo_v2(&free, &total) != CUresult::success)
        return {info_.total_memory, 0};
    return {total, free};
}

Nanoseconds CudaDevice::now() const {
    return context_->now();
}

const DeviceCounters& CudaDevice::counters() const {
    return context_->counters();
}

Bytes CudaDevice::lowest_free() const {
    return context_->lowest_free();
}

Error CudaDevice::explain(const DeviceError& error) const {
    return context_->explain(error);
}

DeviceResult<void> CudaDevice::refuse_while_capturing(CudaCall& call) const {
    if (capturing())
        return call.refuse(DeviceStatus::not_permitted, "a stream is being captured");
    relax_while_capturing(call);
    return {};
}

void CudaDevice::relax_while_capturing(CudaCall& call) const {
    if (streams_->has_foreign() || capturing())
        call.relax();
}

// Streams.

StreamId CudaDevice::adopt(std::uintptr_t native) {
    return streams_->adopt(native);
}

StreamId CudaDevice::borrow(std::uintptr_t native, StreamId first) {
    return streams_->borrow(native, first);
}

void CudaDevice::keep(StreamId stream) {
    streams_->keep(stream);
}

void CudaDevice::disown(StreamId stream) {
    streams_->disown(stream);
}

DeviceResult<std::uintptr_t> CudaDevice::native(StreamId stream) {
    CudaCall call{*context_, DeviceCall::record};
    call.uncounted();
    TM_ASSIGN(CudaStream* const found, streams_->find(call, stream));
    streams_->share(*found);
    return reinterpret_cast<std::uintptr_t>(found->native);
}

DeviceResult<cuda::CUstream> CudaDevice::native_of(CudaCall& call, StreamId stream) {
    return streams_->queue(call, stream);
}

std::size_t CudaDevice::native_events() const {
    return streams_->native_events();
}

DeviceResult<EventId> CudaDevice::record(StreamId stream) {
    CudaCall call{*context_, DeviceCall::record};
    return streams_->record(call, stream);
}

DeviceResult<bool> CudaDevice::complete(EventId event) {
    if (context_->lost() == CUresult::success && streams_->known_to_have_passed(event)) {
        context_->count(DeviceCall::complete, 0, 0);  // too short to be timed
        return true;
    }
    CudaCall call{*context_, DeviceCall::complete};
    TM_TRY(refuse_while_capturing(call));
    return streams_->complete(call, event, config_.await_events);
}

DeviceResult<void> CudaDevice::wait(StreamId stream, EventId event) {
    CudaCall call{*context_, DeviceCall::wait};
    return streams_->wait(call, stream, event);
}

DeviceResult<void> CudaDevice::synchronize(StreamId stream) {
    CudaCall call{*context_, DeviceCall::synchronize};
    TM_TRY(refuse_while_capturing(call));
    return streams_->synchronize(call, stream);
}

DeviceResult<void> CudaDevice::synchronize_device() {
    CudaCall call{*context_, DeviceCall::synchronize_device};
    TM_TRY(refuse_while_capturing(call));
    return streams_->synchronize_all(call);
}

std::uint64_t CudaDevice::replaced_streams() const {
    return streams_->replaced();
}

bool CudaDevice::capturing() const {
    return streams_->capturing();
}

// Graphs.

DeviceResult<void> CudaDevice::begin_capture(StreamId stream) {
    CudaCall call{*context_, DeviceCall::begin_capture};
    return streams_->begin_capture(call, stream);
}

DeviceResult<GraphId> CudaDevice::end_capture(StreamId stream) {
    return end_capture(stream, false);
}

DeviceResult<GraphId> CudaDevice::end_capture(StreamId stream, bool auto_free) {
    CudaCall call{*context_, DeviceCall::end_capture};
    TM_ASSIGN(const cuda::CUgraph graph, streams_->end_capture(call, stream));
    cuda::CUgraphExec executable = nullptr;
    const unsigned long long flags = auto_free ? cuda::kAutoFreeOnLaunch : 0;
    relax_while_capturing(call);  // another capture may continue
    const auto made = call.make(driver_->cuGraphInstantiateWithFlags, &executable, graph, flags);
    static_cast<void>(call.ask(driver_->cuGraphDestroy, graph));
    if (!made)
        return tl::make_unexpected(made.error());
    return GraphId{graphs_.insert(executable)};
}

DeviceResult<void> CudaDevice::launch(GraphId graph, StreamId stream) {
    CudaCall call{*context_, DeviceCall::launch};
    const auto executable = graphs_.find(to_integer(graph));
    if (!executable)
        return call.refuse(DeviceStatus::invalid_value, "no such graph");
    TM_ASSIGN(const cuda::CUstream native, native_of(call, stream));
    return call.make(driver_->cuGraphLaunch, *executable, native);
}

DeviceResult<void> CudaDevice::destroy_graph(GraphId graph) {
    CudaCall call{*context_, DeviceCall::destroy_graph};
    const auto executable = graphs_.take(to_integer(graph));
    if (!executable)
        return call.refuse(DeviceStatus::invalid_value, "no such graph");
    relax_while_capturing(call);
    const auto destroyed = call.make(driver_->cuGraphExecDestroy, *executable);
    if (!destroyed)
        graphs_.restore(to_integer(graph), *executable);
    return destroyed;
}

}  // namespace tidemark
