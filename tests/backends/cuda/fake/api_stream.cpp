// The fake driver's calls: streams and events.
#include "tests/backends/cuda/fake/fake_call.h"
#include "tests/backends/cuda/fake/fake_pool.h"
#include "tests/backends/cuda/fake/fake_queue.h"

namespace tidemark::cuda {

using fake::as_handle;
using fake::as_id;
using fake::call;
using fake::Capture;
using fake::current_context;
using fake::Event;
using fake::kContext;
using fake::kUncaptured;
using fake::state;
using fake::Stream;
using fake::this_thread;

namespace {

// An event of the current context, or null.
Event* find_event(CUevent handle) {
    const auto found = state().events.find(as_id(handle));
    if (found == state().events.end() || found->second.context != this_thread().contexts.back())
        return nullptr;
    return &found->second;
}

// Events are asked from any context of theirs alone; a wait may name one of another device.
Event* find_any_event(CUevent handle) {
    const auto found = state().events.find(as_id(handle));
    return found == state().events.end() ? nullptr : &found->second;
}

// A call on a stream or event of a capture that would have to wait ends the capture's hopes.
CUresult spoil(const std::shared_ptr<Capture>& capture, CUresult code) {
    capture->invalidated = true;
    return code;
}

bool under_way(const std::shared_ptr<Capture>& capture) {
    for (const auto& [id, stream] : state().streams) {
        if (stream.capture == capture)
            return true;
    }
    return false;
}

// A stream waits for a captured event: it joins the capture, or learns what the event knew.
CUresult join(std::uint64_t id, Stream& stream, const Event& event) {
    const std::shared_ptr<Capture>& capture = event.capture;
    if (!under_way(capture))
        return CUresult::invalid_value;
    if (stream.capture && stream.capture != capture) {
        spoil(stream.capture, CUresult::success);
        return spoil(capture, CUresult::stream_capture_merge);
    }
    if (capture->invalidated)
        return CUresult::stream_capture_invalidated;
    stream.capture = capture;
    auto& known = capture->knows[id];
    for (const auto& [other, count] : event.clock) {
        std::uint64_t& mine = known[other];
        mine = std::max(mine, count);
    }
    return CUresult::success;
}

// What a question about an event is answered: one that a capture recorded is no point in time.
CUresult answer(const Event& event) {
    if (event.capture)
        return under_way(event.capture) ? spoil(event.capture, CUresult::captured_event)
                                        : CUresult::invalid_value;
    if (const CUresult refused = fake::refuse_in_capture(); refused != CUresult::success)
        return refused;
    return fake::reached(event.point) ? CUresult::success : CUresult::not_ready;
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    return call("cuStreamCreate", kContext, [&] {
        if (flags > kStreamNonBlocking)
            return CUresult::invalid_value;
        Stream made;
        made.context = this_thread().contexts.back();
        made.waits_for_default = flags != kStreamNonBlocking;
        made.number = ++state().streams_made;
        std::uint64_t id = 0;
        if (state().config.recycle != 0 && !state().streams_gone.empty()) {
            const auto last = std::prev(state().streams_gone.end());
            id = last->first;
            made.queued = made.done = last->second;  // points of the other one have passed
            state().streams_gone.erase(last);
        } else {
            id = state().new_id();
        }
        state().streams.emplace(id, std::move(made));
        *stream = as_handle<CUstream>(id);
        return CUresult::success;
    });
}

CUresult cuStreamDestroy_v2(CUstream handle) {
    return call("cuStreamDestroy_v2", kContext, [&] {
        std::uint64_t id = 0;
        const Stream* const stream = fake::find_stream(handle, id);
        if (stream == nullptr || id == current_context()->default_stream)
            return CUresult::invalid_handle;
        if (stream->capture)
            spoil(stream->capture, CUresult::success);
        fake::finish(fake::tip(id));
        state().streams_gone[id] = stream->queued;
        state().streams.erase(id);
        return CUresult::success;
    });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* number) {
    return call("cuStreamGetId", kContext, [&] {
        std::uint64_t id = 0;
        const Stream* const stream = fake::find_stream(handle, id);
        if (stream == nullptr)
            return CUresult::invalid_handle;
        *number = stream->number;
        return CUresult::success;
    });
}

CUresult cuStreamQuery(CUstream handle) {
    return call("cuStreamQuery", kContext | kUncaptured, [&] {
        std::uint64_t id = 0;
        const Stream* const stream = fake::find_stream(handle, id);
        if (stream == nullptr)
            return CUresult::invalid_handle;
        if (stream->capture)
            return spoil(stream->capture, CUresult::stream_capture_unsupported);
        return stream->queue.empty() ? CUresult::success : CUresult::not_ready;
    });
}

CUresult cuStreamSynchronize(CUstream handle) {
    return call("cuStreamSynchronize", kContext | kUncaptured, [&] {
        std::uint64_t id = 0;
        const Stream* const stream = fake::find_stream(handle, id);
        if (stream == nullptr)
            return CUresult::invalid_handle;
        if (stream->capture)
            return spoil(stream->capture, CUresult::stream_capture_unsupported);
        if (id == current_context()->default_stream)
            (void)fake::enqueue(id, {});  // it waits for the streams that wait for it
        fake::finish(fake::tip(id));
        return fake::after_waiting(*current_context());
    });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
    return call("cuStreamWaitEvent", kContext, [&] {
        std::uint64_t id = 0;
        Stream* const stream = fake::find_stream(handle, id);
        const Event* const found = find_any_event(event);
        if (stream == nullptr || found == nullptr)
            return CUresult::invalid_handle;
        if (flags != 0)
            return CUresult::invalid_value;
        if (found->capture)
            return join(id, *stream, *found);
        if (stream->capture)
            return found->point.stream == 0
                       ? CUresult::success
                       : spoil(stream->capture, CUresult::stream_capture_isolation);
        return fake::enqueue(id, {{}, {found->point}});
    });
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
    return call("cuEventCreate", kContext, [&] {
        if (flags > 7)
            return CUresult::invalid_value;
        const std::uint64_t id = state().new_id();
        state().events.emplace(id, Event{.context = this_thread().contexts.back(), .point = {}});
        *event = as_handle<CUevent>(id);
        return CUresult::success;
    });
}

CUresult cuEventDestroy_v2(CUevent event) {
    return call("cuEventDestroy_v2", kContext, [&] {
        return state().events.erase(as_id(event)) == 1 ? CUresult::success
                                                       : CUresult::invalid_handle;
    });
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
    return call("cuEventRecord", kContext, [&] {
        std::uint64_t id = 0;
        const Stream* const stream = fake::find_stream(handle, id);
        Event* const found = find_event(event);
        if (stream == nullptr || found == nullptr)
            return CUresult::invalid_handle;
        if (stream->capture) {
            if (stream->capture->invalidated)
                return CUresult::stream_capture_invalidated;
            found->capture = stream->capture;
            found->clock = stream->capture->knows[id];
            return CUresult::success;
        }
        const CUresult queued = fake::enqueue(id, {});
        if (queued != CUresult::success)
            return queued;
        found->capture = nullptr;
        found->point = fake::tip(id);
        return CUresult::success;
    });
}

CUresult cuEventQuery(CUevent event) {
    return call("cuEventQuery", kContext, [&] {
        const Event* const found = find_event(event);
        return found == nullptr ? CUresult::invalid_handle : answer(*found);
    });
}

CUresult cuEventSynchronize(CUevent event) {
    return call("cuEventSynchronize", kContext, [&] {
        const Event* const found = find_event(event);
        if (found == nullptr)
            return CUresult::invalid_handle;
        if (const CUresult code = answer(*found); code != CUresult::not_ready)
            return code;
        fake::finish(found->point);
        return fake::after_waiting(*current_context());
    });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* argument) {
    return call("cuLaunchHostFunc", kContext, [&] {
        std::uint64_t id = 0;
        if (fake::find_stream(handle, id) == nullptr)
            return CUresult::invalid_handle;
        const auto run = [=] {
            function(argument);
            return CUresult::success;
        };
        return fake::enqueue(id, {run, {}});
    });
}

}  // namespace tidemark::cuda
