// Streams as queues. Work is done in order within a stream, and after what it waits for elsewhere.
// Work that fails stops its context for good, as a kernel's fault does.
#include "tests/backends/cuda/fake/fake_queue.h"

#include <algorithm>

namespace tidemark::fake {
namespace {

std::uint64_t default_stream_of(std::uint64_t context) {
    return state().contexts.at(context).default_stream;
}

// What a stream's next work waits for because of the default stream's own rule: it waits for all
// streams of its context, and they wait for it, but for those that were made not to.
void add_default_order(std::uint64_t id, const Stream& stream, std::vector<Point>& after) {
    const std::uint64_t first = default_stream_of(stream.context);
    if (id != first) {
        if (stream.waits_for_default)
            after.push_back(tip(first));
        return;
    }
    for (const auto& [other, each] : state().streams) {
        if (other != id && each.context == stream.context && each.waits_for_default)
            after.push_back(tip(other));
    }
}

bool ready(const Operation& operation) {
    return std::all_of(operation.after.begin(), operation.after.end(), reached);
}

void fault(Stream& stream, Code code) {
    Context& context = state().contexts.at(stream.context);
    context.lost = code;
    for (auto& [id, each] : state().streams) {
        if (each.context != stream.context)
            continue;
        each.queue.clear();
        each.done = each.queued;
    }
}

void do_first(Stream& stream) {
    const Operation operation = std::move(stream.queue.front());
    stream.queue.pop_front();
    const Code code = operation.work ? operation.work() : Code::success;
    ++stream.done;
    if (code != Code::success)
        fault(stream, code);
}

// Adds a node to the stream's capture. Nodes are done in the order in which they were recorded,
// which keeps every order that the program asked for.
Code record_node(std::uint64_t id, Stream& stream, Operation operation) {
    Capture& capture = *stream.capture;
    if (capture.invalidated)
        return Code::stream_capture_invalidated;
    capture.nodes.push_back({std::move(operation.work), {}});
    ++capture.knows[id][id];
    return Code::success;
}

// The default stream and streams that wait for it cannot work while one of them is captured.
bool disturbs_capture(std::uint64_t id, const Stream& stream) {
    if (id != default_stream_of(stream.context))
        return false;
    return std::any_of(state().streams.begin(), state().streams.end(), [&](const auto& each) {
        return each.second.capture && each.second.context == stream.context &&
               each.second.waits_for_default;
    });
}

}  // namespace

Stream* find_stream(cuda::CUstream handle, std::uint64_t& id) {
    id = as_id(handle);
    const Context* const context = current_context();
    if (context == nullptr)
        return nullptr;
    if (id <= 2)
        id = context->default_stream;
    const auto found = state().streams.find(id);
    state().strays += state().streams_gone.count(id);
    if (found == state().streams.end() || &state().contexts.at(found->second.context) != context)
        return nullptr;
    return &found->second;
}

Code enqueue(std::uint64_t id, Operation operation) {
    Stream& stream = state().streams.at(id);
    if (stream.capture)
        return record_node(id, stream, std::move(operation));
    if (disturbs_capture(id, stream)) {
        invalidate_captures();
        return Code::stream_capture_implicit;
    }
    add_default_order(id, stream, operation.after);
    stream.queue.push_back(std::move(operation));
    ++stream.queued;
    if (state().config.by_hand == 0)
        finish(tip(id));
    return Code::success;
}

Point tip(std::uint64_t id) {
    return {id, state().streams.at(id).queued};
}

bool reached(Point point) {
    const auto found = state().streams.find(point.stream);
    return found == state().streams.end() || found->second.done >= point.count;
}

void finish(Point point) {
    const auto found = state().streams.find(point.stream);
    if (found == state().streams.end())
        return;
    Stream& stream = found->second;
    while (stream.done < point.count && !stream.queue.empty()) {
        const std::vector<Point> after = stream.queue.front().after;
        for (const Point each : after)
            finish(each);
        if (!stream.queue.empty())  // a fault elsewhere empties it
            do_first(stream);
    }
}

void finish_all(std::uint64_t context) {
    for (auto& [id, stream] : state().streams) {
        if (context == 0 || stream.context == context)
            finish({id, stream.queued});
    }
}

std::uint64_t progress(std::uint64_t count) {
    std::uint64_t done = 0;
    for (bool any = true; any && done < count;) {
        any = false;
        for (auto& [id, stream] : state().streams) {
            if (done == count || stream.queue.empty() || !ready(stream.queue.front()))
                continue;
            do_first(stream);
            ++done;
            any = true;
        }
    }
    return done;
}

bool capture_forbids() {
    using Mode = cuda::CUstreamCaptureMode;
    const Thread& thread = this_thread();
    if (thread.mode == Mode::relaxed)
        return false;
    return std::any_of(state().streams.begin(), state().streams.end(), [&](const auto& each) {
        const std::shared_ptr<Capture>& capture = each.second.capture;
        if (!capture || capture->mode == Mode::relaxed)
            return false;
        const bool global = capture->mode == Mode::global && thread.mode == Mode::global;
        return global || capture->thread == thread.id;
    });
}

bool spoil_all_captures() {
    bool any = false;
    for (auto& [id, stream] : state().streams) {
        if (!stream.capture)
            continue;
        stream.capture->invalidated = true;
        any = true;
    }
    return any;
}

Code refuse_in_capture() {
    if (!capture_forbids())
        return Code::success;
    invalidate_captures();
    return Code::stream_capture_unsupported;
}

void invalidate_captures() {
    for (auto& [id, stream] : state().streams) {
        if (stream.capture && stream.capture->mode != cuda::CUstreamCaptureMode::relaxed)
            stream.capture->invalidated = true;
    }
}

}  // namespace tidemark::fake
