// Borrowed streams: when they exist, and what is known about them when they don't.
#include "backends/cuda/cuda_visit.h"

#include <utility>

#include "backends/cuda/cuda_streams.h"

namespace tidemark {

using cuda::CUresult;

thread_local const CudaStream* CudaStreams::visited_ = nullptr;

CudaVisit::CudaVisit(CudaDevice* device, StreamId stream) : device_(device) {
    if (device_ != nullptr)
        before_ = device_->streams_->enter(stream);
}

CudaVisit::~CudaVisit() {
    if (device_ != nullptr)
        device_->streams_->leave_to(before_);
}

void CudaVisit::note_work(StreamId stream, bool record_now) {
    if (device_ != nullptr)
        device_->streams_->note_work(stream, record_now);
}

const CudaStream* CudaStreams::enter(StreamId id) {
    CudaStream* const stream = id == StreamId::default_stream ? nullptr : known(id);
    const CudaStream* const before = std::exchange(visited_, stream);
    if (stream != nullptr && stream->borrowed)
        look_at(*stream);
    return before;
}

void CudaStreams::leave_to(const CudaStream* before) {
    visited_ = before;
}

void CudaStreams::look_at(CudaStream& stream) {
    const CudaCurrent current{context_};
    const CudaDriver& driver = context_.driver();
    // In a capture the driver is asked nothing else: one call too many ends the capture.
    if (asks_captured(stream.native)) {
        if (!stream.foreign.exchange(true))
            ++foreign_count_;
        return;
    }
    unsigned long long number = 0;
    if (!driver.cuStreamGetId || driver.cuStreamGetId(stream.native, &number) != CUresult::success)
        return;
    {
        const std::lock_guard lock{stream.mutex};
        if (stream.native_number == number)
            return;
        if (stream.native_number == 0) {
            stream.native_number = number;
            return;
        }
    }
    // Another stream with the handle of one that is gone: work on it comes after what was queued on
    // that one.
    replaced_.fetch_add(1, std::memory_order_acq_rel);
    CudaCall call{context_, DeviceCall::wait};
    call.uncounted();
    const CudaStream* const here = std::exchange(visited_, nullptr);
    const auto last = point_of_absent(call, stream);
    visited_ = here;
    if (!last)
        return;  // the next visit tries again
    CudaPoint point;
    {
        const std::lock_guard lock{stream.mutex};
        stream.native_number = number;
        const CudaPoint* const kept = stream.points.telling(stream.points.last());
        if (kept == nullptr || kept->captured)
            return;
        point = *kept;
        events_.hold(point.event);
    }
    static_cast<void>(call.make(driver.cuStreamWaitEvent, stream.native, point.event->native, 0U));
    events_.let_go(point.event);
}

void CudaStreams::note_work(StreamId id, bool record_now) {
    CudaStream* const stream = id == StreamId::default_stream ? nullptr : known(id);
    if (stream == nullptr || !stream->borrowed)
        return;
    stream->untold = true;
    if (!record_now || captured(*stream))
        return;
    CudaCall call{context_, DeviceCall::record};
    call.uncounted();
    static_cast<void>(record(call, id));  // if it fails, queries wait for the device
}

DeviceResult<cuda::CUstream> CudaStreams::queue(CudaCall& call, StreamId id) {
    TM_ASSIGN(CudaStream* const stream, find(call, id));
    if (usable(*stream))
        return stream->native;
    TM_ASSIGN(const EventId last, point_of_absent(call, *stream));
    TM_TRY(wait(call, StreamId::default_stream, last));
    return nullptr;
}

}  // namespace tidemark
