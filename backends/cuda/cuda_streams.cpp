// The table of streams: which exist, who owns them, and which of them are captured.
#include "backends/cuda/cuda_streams.h"

#include <algorithm>

#include "backends/cuda/cuda_device.h"
#include "core/base/check.h"

namespace tidemark {

using cuda::CUresult;

namespace {

// CU_STREAM_LEGACY is null, by another name.
constexpr bool is_default(std::uintptr_t native) {
    return native <= 1;
}

}  // namespace

CudaStreams::CudaStreams(CudaContext& context) : context_(context), events_(context.driver()) {
    append(StreamId::default_stream).made = true;  // its handle is null
}

CudaStreams::~CudaStreams() {
    const CudaCurrent current{context_};
    if (context_.lost() != CUresult::success || current.code() != CUresult::success)
        return;  // they end with the context
    const CudaDriver& driver = context_.driver();
    for (const CudaStream& stream : streams_) {
        cuda::CUgraph graph = nullptr;
        if (stream.begun && driver.cuStreamEndCapture(stream.native, &graph) == CUresult::success)
            static_cast<void>(driver.cuGraphDestroy(graph));
    }
    for (const CudaStream& stream : streams_) {
        if (stream.owned)
            static_cast<void>(driver.cuStreamDestroy_v2(stream.native));
    }
    events_.destroy();
}

CudaStream& CudaStreams::append(StreamId id) {
    const auto slot = static_cast<std::uint32_t>(streams_.size());
    TM_CHECK(slot < (1U << (64 - kNumberBits)));
    CudaStream& stream = streams_.emplace_back(id, slot, events_);
    by_id_.emplace(to_integer(id), &stream);
    return stream;
}

CudaStream* CudaStreams::known(StreamId id) const {
    const std::shared_lock lock{table_mutex_};
    const auto found = by_id_.find(to_integer(id));
    return found == by_id_.end() ? nullptr : found->second;
}

DeviceResult<CudaStream*> CudaStreams::find(CudaCall& call, StreamId id) {
    CudaStream* stream = known(id);
    if (stream == nullptr) {
        if (to_integer(id) >= CudaDevice::kFirstAdopted)
            return call.refuse(DeviceStatus::invalid_value, "no such stream was adopted");
        const std::lock_guard lock{table_mutex_};
        const auto found = by_id_.find(to_integer(id));  // another thread may have been faster
        stream = found == by_id_.end() ? &append(id) : found->second;
    }
    if (stream->closed)
        return call.refuse(DeviceStatus::invalid_value, "the stream was disowned");
    {
        const std::lock_guard lock{stream->mutex};
        if (stream->made)
            return stream;
    }
    TM_TRY(make_native(call, *stream));
    return stream;
}

DeviceResult<void> CudaStreams::make_native(CudaCall& call, CudaStream& stream) {
    if (capturing())
        call.relax();
    const std::lock_guard lock{stream.mutex};
    if (stream.made)
        return {};
    const auto made =
        call.make(context_.driver().cuStreamCreate, &stream.native, cuda::kStreamNonBlocking);
    stream.made = stream.owned = made.has_value();
    return made;
}

CudaStream& CudaStreams::append_adopted(StreamId id, std::uintptr_t native) {
    ++adopted_count_;
    CudaStream& stream = append(id);
    stream.native = reinterpret_cast<cuda::CUstream>(native);
    stream.made = true;
    adopted_.emplace(native, id);
    return stream;
}

StreamId CudaStreams::adopt(std::uintptr_t native) {
    if (is_default(native))
        return StreamId::default_stream;
    const std::lock_guard lock{table_mutex_};
    if (const auto known = adopted_.find(native); known != adopted_.end())
        return known->second;
    const StreamId id{CudaDevice::kFirstAdopted + adopted_count_};
    CudaStream& stream = append_adopted(id, native);
    stream.foreign = true;
    foreign_.push_back(&stream);
    ++foreign_count_;
    return id;
}

StreamId CudaStreams::borrow(std::uintptr_t native, StreamId first) {
    if (is_default(native))
        return StreamId::default_stream;
    const std::lock_guard lock{table_mutex_};
    if (const auto known = adopted_.find(native); known != adopted_.end())
        return known->second;
    std::uint32_t number = to_integer(first);
    while (by_id_.contains(number))
        ++number;
    CudaStream& stream = append_adopted(StreamId{number}, native);
    stream.borrowed = true;
    foreign_.push_back(&stream);
    return stream.id;
}

void CudaStreams::keep(StreamId id) {
    CudaStream* const stream = known(id);
    if (stream == nullptr || !stream->borrowed.exchange(false))
        return;
    if (!stream->foreign.exchange(true))
        ++foreign_count_;
}

void CudaStreams::disown(StreamId id) {
    const std::lock_guard lock{table_mutex_};
    const auto found = by_id_.find(to_integer(id));
    if (found == by_id_.end() || found->second->owned || found->second->slot == 0)
        return;
    CudaStream* stream = found->second;
    std::erase(foreign_, stream);
    adopted_.erase(reinterpret_cast<std::uintptr_t>(stream->native));
    stream->closed = true;
    if (stream->foreign.exchange(false))
        --foreign_count_;
}

void CudaStreams::share(CudaStream& stream) {
    const std::lock_guard lock{table_mutex_};
    if (stream.foreign || stream.borrowed || stream.closed || stream.slot == 0)
        return;
    stream.foreign = true;
    adopted_.emplace(reinterpret_cast<std::uintptr_t>(stream.native), stream.id);
    foreign_.push_back(&stream);
    ++foreign_count_;
}

bool CudaStreams::asks_captured(cuda::CUstream native) const {
    auto status = cuda::CUstreamCaptureStatus::none;
    const CUresult code = context_.driver().cuStreamIsCapturing(native, &status);
    return code == CUresult::success && status != cuda::CUstreamCaptureStatus::none;
}

bool CudaStreams::capturing() const {
    if (begun_captures_.load(std::memory_order_relaxed) > 0)
        return true;
    if (foreign_count_.load(std::memory_order_relaxed) == 0)
        return false;
    const CudaCurrent current{context_};
    const std::shared_lock lock{table_mutex_};
    return std::any_of(foreign_.begin(), foreign_.end(), [this](CudaStream* stream) {
        if (!stream->foreign)
            return false;
        const bool is_captured = asks_captured(stream->native);
        if (!is_captured && stream->borrowed && stream->foreign.exchange(false))
            --foreign_count_;
        return is_captured;
    });
}

bool CudaStreams::captured(const CudaStream& stream) const {
    const bool possible =
        stream.foreign || (stream.borrowed ? &stream == visited_
                                           : begun_captures_.load(std::memory_order_relaxed) > 0);
    return possible && stream.slot != 0 && !stream.closed && asks_captured(stream.native);
}

DeviceResult<void> CudaStreams::begin_capture(CudaCall& call, StreamId id) {
    TM_ASSIGN(CudaStream* const stream, find(call, id));
    const auto begun = call.make(context_.driver().cuStreamBeginCapture_v2, stream->native,
                                 cuda::CUstreamCaptureMode::thread_local_mode);
    if (!begun)
        return begun;
    const std::lock_guard lock{stream->mutex};
    stream->begun = true;
    ++begun_captures_;
    return {};
}

DeviceResult<cuda::CUgraph> CudaStreams::end_capture(CudaCall& call, StreamId id) {
    TM_ASSIGN(CudaStream* const stream, find(call, id));
    const CudaDriver& driver = context_.driver();
    cuda::CUgraph graph = nullptr;
    const auto ended = call.make(driver.cuStreamEndCapture, stream->native, &graph);
    bool over = ended.has_value();
    if (!over) {  // it continues, unless the driver says otherwise
        auto status = cuda::CUstreamCaptureStatus::none;
        over = call.ask(driver.cuStreamIsCapturing, stream->native, &status) == CUresult::success &&
               status == cuda::CUstreamCaptureStatus::none;
    }
    {
        const std::lock_guard lock{stream->mutex};
        if (stream->begun && over) {
            stream->begun = false;
            --begun_captures_;
        }
    }
    if (!ended)
        return tl::make_unexpected(ended.error());
    return graph;
}

EventId CudaStreams::name(const CudaStream& stream, std::uint64_t number) {
    TM_CHECK(number < (std::uint64_t{1} << kNumberBits));
    return EventId{(std::uint64_t{stream.slot} << kNumberBits) | number};
}

CudaStream* CudaStreams::locate(EventId event, std::uint64_t* number) const {
    const std::uint64_t slot = to_integer(event) >> kNumberBits;
    *number = to_integer(event) & ((std::uint64_t{1} << kNumberBits) - 1);
    const std::shared_lock lock{table_mutex_};
    if (slot >= streams_.size() || *number == 0)
        return nullptr;
    return const_cast<CudaStream*>(&streams_[slot]);
}

}  // namespace tidemark
