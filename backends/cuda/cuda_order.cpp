// CudaStreams, order: recording, checking, waiting for and draining points.
#include "backends/cuda/cuda_streams.h"

namespace tidemark {
namespace {

using cuda::CUresult;

constexpr const char* kUnknownEvent = "no such event was recorded here";
constexpr const char* kCaptured = "a stream is being captured";

}  // namespace

DeviceResult<EventId> CudaStreams::record(CudaCall& call, StreamId id) {
    TM_ASSIGN(CudaStream* const found, find(call, id));
    CudaStream& stream = *found;
    if (!usable(stream))
        return point_of_absent(call, stream);
    const bool any_captured = capturing();
    const std::lock_guard lock{stream.mutex};
    const bool is_captured = any_captured && captured(stream);
    if (!is_captured)
        stream.points.drop_captured();
    stream.points.make_room(call, !any_captured);
    TM_ASSIGN(CudaEvent* const event, events_.take(call));
    if (const auto done = call.make(context_.driver().cuEventRecord, event->native, stream.native);
        !done) {
        events_.give_back(event);
        return tl::make_unexpected(done.error());
    }
    stream.untold = false;
    return name(stream, stream.points.append(event, is_captured));
}

// Covers everything that the program queued on it before its last call about it: nothing has come
// since.
DeviceResult<EventId> CudaStreams::point_of_absent(CudaCall& call, CudaStream& stream) {
    if (stream.untold.exchange(false)) {
        const auto waited = capturing() ? call.refuse(DeviceStatus::not_permitted, kCaptured)
                                        : synchronize_all(call);
        if (!waited) {
            stream.untold = true;
            return tl::make_unexpected(waited.error());
        }
    }
    const std::lock_guard lock{stream.mutex};
    const std::uint64_t last = stream.points.last();
    return name(stream, last == 0 ? stream.points.append_passed() : last);
}

bool CudaStreams::known_to_have_passed(EventId event) const {
    if (begun_captures_.load(std::memory_order_relaxed) > 0 ||
        foreign_count_.load(std::memory_order_relaxed) > 0)
        return false;  // it may not be checked now
    std::uint64_t number = 0;
    const CudaStream* stream = locate(event, &number);
    return stream != nullptr && stream->points.passed(number);
}

DeviceResult<bool> CudaStreams::complete(CudaCall& call, EventId event, bool await) {
    std::uint64_t number = 0;
    CudaStream* stream = locate(event, &number);
    if (stream == nullptr)
        return call.refuse(DeviceStatus::invalid_value, kUnknownEvent);
    std::unique_lock lock{stream->mutex};
    if (number > stream->points.last())
        return call.refuse(DeviceStatus::invalid_value, kUnknownEvent);
    stream->points.drop_captured();  // nothing is captured while this may be called
    if (stream->points.passed(number))
        return true;
    const CudaPoint* kept = stream->points.telling(number);
    if (kept == nullptr) {
        stream->points.pass(number);
        return true;
    }
    const CudaPoint point = *kept;
    const CudaDriver& driver = context_.driver();
    const CUresult code = call.ask(driver.cuEventQuery, point.event->native);
    if (code == CUresult::not_ready && !await)
        return false;
    if (code == CUresult::not_ready) {
        events_.hold(point.event);
        lock.unlock();
        const auto waited = call.make_waiting(driver.cuEventSynchronize, point.event->native);
        lock.lock();
        events_.let_go(point.event);
        if (!waited)
            return tl::make_unexpected(waited.error());
    } else if (code != CUresult::success) {
        return call.refused(code, driver.cuEventQuery.name(),
                            {CudaCall::argument(point.event->native)});
    }
    stream->points.pass(point.number);
    return true;
}

DeviceResult<void> CudaStreams::wait(CudaCall& call, StreamId id, EventId event) {
    TM_ASSIGN(CudaStream* const waiting, find(call, id));
    std::uint64_t number = 0;
    CudaStream* awaited = locate(event, &number);
    if (awaited == nullptr)
        return call.refuse(DeviceStatus::invalid_value, kUnknownEvent);
    if (!usable(*waiting)) {  // the host waits instead
        if (capturing())
            return call.refuse(DeviceStatus::not_permitted, kCaptured);
        TM_TRY(complete(call, event, true));
        return {};
    }
    const bool any_captured = capturing();
    CudaPoint point;
    {
        const std::lock_guard lock{awaited->mutex};
        if (number > awaited->points.last())
            return call.refuse(DeviceStatus::invalid_value, kUnknownEvent);
        if (!any_captured || !captured(*awaited))
            awaited->points.drop_captured();
        const CudaPoint* kept = awaited->points.telling(number);
        if (awaited == waiting || awaited->points.passed(number) || kept == nullptr)
            return {};  // nothing to do
        point = *kept;
        if (any_captured && !point.captured && captured(*waiting))
            return call.refuse(DeviceStatus::not_permitted,
                               "a captured stream cannot wait for work outside of the capture");
        events_.hold(point.event);
    }
    const auto done =
        call.make(context_.driver().cuStreamWaitEvent, waiting->native, point.event->native, 0U);
    events_.let_go(point.event);
    if (done && point.captured)
        share(*waiting);  // now captured too, perhaps by others: to be checked
    return done;
}

DeviceResult<void> CudaStreams::synchronize(CudaCall& call, StreamId id) {
    TM_ASSIGN(CudaStream* const found, find(call, id));
    CudaStream& stream = *found;
    if (!usable(stream)) {
        TM_ASSIGN(const EventId last, point_of_absent(call, stream));
        TM_TRY(complete(call, last, true));
        return {};
    }
    std::uint64_t reached = 0;
    {
        const std::lock_guard lock{stream.mutex};
        reached = stream.points.last();
    }
    // Checked first only to distinguish a stall from driver time: pools release at the wait itself.
    const CudaDriver& driver = context_.driver();
    const bool idle = call.ask(driver.cuStreamQuery, stream.native) == CUresult::success;
    const auto waited = idle ? call.make(driver.cuStreamSynchronize, stream.native)
                             : call.make_waiting(driver.cuStreamSynchronize, stream.native);
    if (!waited)
        return waited;
    const std::lock_guard lock{stream.mutex};
    stream.points.drop_captured();
    stream.points.pass(reached);
    return {};
}

DeviceResult<void> CudaStreams::synchronize_all(CudaCall& call) {
    std::vector<std::pair<CudaStream*, std::uint64_t>> reached;
    {
        const std::shared_lock lock{table_mutex_};
        for (CudaStream& stream : streams_) {
            const std::lock_guard stream_lock{stream.mutex};
            reached.emplace_back(&stream, stream.points.last());
        }
    }
    TM_TRY(call.make_waiting(context_.driver().cuCtxSynchronize));
    for (const auto& [stream, number] : reached) {
        const std::lock_guard lock{stream->mutex};
        stream->points.drop_captured();
        stream->points.pass(number);
    }
    return {};
}

}  // namespace tidemark
