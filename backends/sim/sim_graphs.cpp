// The simulator's graphs.
//
// While a stream is captured, copy, fill, write_pattern, record, wait, malloc_async and free_async
// on it are recorded and not done; calls that wait or ask are not_permitted. A launch repeats the
// steps, in their order and through the page table at that time. Launches of one graph run one
// after another, as with the driver. Refused as the driver refuses it, without any harm:
//   - capture of the default stream, also by a wait; a wait that would tie a capture to other work
//     or to another capture (not_permitted). Real hardware ends the capture after such an error;
//     here it continues.
//   - end_capture while a stream that joined is not waited for: not_permitted, and the graph is
//     lost. A graph may be empty.
//   - launch on a captured stream (not_permitted): CUDA would make it a part of the graph.
//   - free_async in a capture of anything but memory of that capture. (CUDA also accepts memory
//     that another graph left.)
//   - launch while memory that the last launch made is not freed, without SimConfig::auto_free
//     (invalid_value); with it that memory is freed first. Each launch makes memory at the same
//     addresses, and its content is undefined.
//   - launch when a step names an address that is no longer memory: `fault`, and nothing has
//     happened. On real hardware (seen on an H200) the launch succeeds, the next call that waits
//     returns CUDA_ERROR_ILLEGAL_ADDRESS, and the context is lost. If the address is another
//     owner's memory by then, both here and there the graph works on that.
//
// Graph memory can be used only while it is live. On real hardware a kernel that uses its address
// later reads and writes what another graph has there, and a copy takes it for a host address and
// crashes (both seen); here it is invalid_value. How much physical memory graphs take, when they
// share it, and that it is kept beyond their end, is as measured (tests/gpu/graph_memory_test.cpp).
// An event that was recorded in a capture orders the captured work. When the capture has ended it
// represents the stream's work before it, as on our CUDA device (the driver itself refuses it). A
// destroyed graph leaves the memory that its last launch made and did not free; it is freed with
// free_async or free. trim_pool releases all unused graph memory.
#include <algorithm>

#include "backends/sim/sim_device.h"
#include "core/base/check.h"

namespace tidemark {

// Capture.

Recording* SimDevice::recording_of(StreamId stream) {
    for (Recording& recording : recordings_) {
        if (recording.has(stream))
            return &recording;
    }
    return nullptr;
}

DeviceResult<void> SimDevice::begin_capture(StreamId stream) {
    count(DeviceCall::begin_capture);
    if (stream == StreamId::default_stream)
        return refuse(DeviceCall::begin_capture, DeviceStatus::not_permitted);
    if (recording_of(stream) != nullptr)
        return refuse(DeviceCall::begin_capture, DeviceStatus::invalid_value);
    recordings_.emplace_back(stream);
    charge(DeviceCall::begin_capture, 0);
    return {};
}

DeviceResult<GraphId> SimDevice::end_capture(StreamId stream) {
    constexpr DeviceCall kCall = DeviceCall::end_capture;
    count(kCall);
    const auto recording = std::ranges::find(recordings_, stream, &Recording::first);
    if (recording == recordings_.end())
        return refuse(kCall, DeviceStatus::invalid_value);
    if (!recording->joined()) {
        drop(*recording);
        recordings_.erase(recording);
        return refuse(kCall, DeviceStatus::not_permitted);
    }
    graphs_.emplace(++graph_count_, recording->finish());
    recordings_.erase(recording);
    charge(kCall, 0);
    return GraphId{graph_count_};
}

void SimDevice::drop(const Recording& recording) {
    for (const auto& [begin, piece] : recording.pieces())
        graph_memory_.unreserve(piece.range);
}

// Is the stream or the event in a capture?
bool SimDevice::ties_capture(StreamId stream, EventId event) {
    return std::ranges::any_of(
        recordings_, [&](const Recording& one) { return one.has(stream) || one.has(event); });
}

// A wait in a capture, or for an event of one; false: the capture would be tied to other work.
bool SimDevice::wait_captured(StreamId stream, EventId event) {
    const auto source =
        std::ranges::find_if(recordings_, [&](const Recording& one) { return one.has(event); });
    const Recording* target = recording_of(stream);
    if (source == recordings_.end() || stream == StreamId::default_stream ||
        (target != nullptr && target != &*source))
        return false;
    source->wait(stream, event);
    return true;
}

DeviceResult<Address> SimDevice::malloc_captured(Bytes size, StreamId stream,
                                                 Recording& recording) {
    const std::optional<Range> range = graph_memory_.reserve(size);
    if (!range)
        return refuse(DeviceCall::malloc_async, DeviceStatus::out_of_memory);
    recording.take(stream, *range);
    charge(DeviceCall::malloc_async, size);
    return range->begin;
}

// Frees memory of a graph: by a step of the capture that `stream` is in, or now.
std::optional<Bytes> SimDevice::give_graph_memory(Address address, StreamId stream) {
    if (Recording* recording = recording_of(stream)) {
        if (!recording->give(stream, address))
            return std::nullopt;
        return recording->pieces().at(address).range.size;
    }
    const std::optional<GraphMemory::Live> live = graph_memory_.unbind(address);
    if (!live)
        return std::nullopt;
    graph_memory_.given_back(live->slab, stream, clock_.busy_until(stream));
    if (!graphs_.contains(to_integer(live->graph)))
        graph_memory_.unreserve({address, live->size});
    return live->size;
}

// free() of anything that is not plain memory.
DeviceResult<void> SimDevice::free_graph_memory(Address address) {
    if (graph_memory_.live_at(address) == nullptr)
        return refuse(DeviceCall::free, DeviceStatus::invalid_value);
    stall(clock_.drain_all());
    const std::optional<Bytes> size = give_graph_memory(address, StreamId::default_stream);
    charge(DeviceCall::free, size.value_or(0));
    return {};
}

// May work for `stream` name these bytes? In a capture, also those that it has taken.
bool SimDevice::usable(StreamId stream, Address address, Bytes size, bool write) {
    if (capturing() && graph_memory_.covers(address)) {
        const Recording* recording = recording_of(stream);
        if (recording != nullptr && size != 0 && recording->holds({address, size}))
            return true;
    }
    return accessible(address, size, write);
}

// Launch.

bool SimDevice::reaches(const Graph& graph, const GraphStep& step) const {
    if (step.kind == GraphStep::Kind::take || step.kind == GraphStep::Kind::give)
        return true;
    // Memory of the graph was live at this step when it was recorded, so it will be again.
    const auto reachable = [&](Address address, bool write) {
        auto piece = graph.pieces.upper_bound(address);
        if (piece != graph.pieces.begin()) {
            --piece;
            if (address - piece->first < piece->second.range.size)
                return true;
        }
        return accessible(address, step.size, write);
    };
    return reachable(step.target, true) &&
           (step.kind != GraphStep::Kind::copy || reachable(step.source, false));
}

// Does the graph have memory that its last launch made and nobody freed?
bool SimDevice::leaves_memory(const Graph& graph) const {
    return std::ranges::any_of(graph.pieces, [&](const auto& entry) {
        return graph_memory_.live_at(entry.first) != nullptr;
    });
}

void SimDevice::trim_graph_memory() {
    graph_memory_.trim(now(), [&](Range slab) { take_back(slab); });
}

// Physical memory for a launch: the slab that holds what the last one left, one that is free, a new
// one, or one that will be free, for which the launch waits.
std::optional<GraphMemory::SlabId> SimDevice::slab_for(const Graph& graph, GraphId id,
                                                       StreamId stream) {
    for (const auto& [begin, piece] : graph.pieces) {
        if (const GraphMemory::Live* live = graph_memory_.live_at(begin))
            return live->slab;
    }
    if (const auto found = graph_memory_.find_slab(graph.footprint, id, stream, now()))
        return found;
    const Bytes size = GraphMemory::slab_size(graph.footprint);
    if (size > free_)
        free_ += pool_.trim(0, now());
    if (size <= free_) {
        free_ -= size;
        return graph_memory_.add_slab(size);
    }
    const std::optional<GraphMemory::SlabId> later = graph_memory_.first_done(graph.footprint);
    if (later)
        clock_.hold(stream, graph_memory_.ready(*later));
    return later;
}

void SimDevice::run(Graph& graph, GraphId id, std::optional<GraphMemory::SlabId> slab) {
    for (const GraphStep& step : graph.steps) {
        if (step.kind == GraphStep::Kind::take) {
            const Bytes offset = graph.pieces.at(step.target).offset;
            store_.drop(graph_memory_.bind({step.target, step.size}, *slab, offset, id));
        } else if (step.kind == GraphStep::Kind::give) {
            graph_memory_.unbind(step.target);
        } else {
            perform(step);
        }
    }
}

DeviceResult<void> SimDevice::launch(GraphId graph, StreamId stream) {
    constexpr DeviceCall kCall = DeviceCall::launch;
    count(kCall);
    if (recording_of(stream) != nullptr)
        return refuse(kCall, DeviceStatus::not_permitted);
    const auto found = graphs_.find(to_integer(graph));
    if (found == graphs_.end())
        return refuse(kCall, DeviceStatus::invalid_value);
    Graph& one = found->second;
    if (!config_.auto_free && leaves_memory(one))
        return refuse(kCall, DeviceStatus::invalid_value);
    if (!std::ranges::all_of(one.steps, [&](const GraphStep& step) { return reaches(one, step); }))
        return refuse(kCall, DeviceStatus::fault);
    std::optional<GraphMemory::SlabId> slab;
    if (one.footprint != 0) {
        slab = slab_for(one, graph, stream);
        if (!slab)
            return refuse(kCall, DeviceStatus::out_of_memory);
        for (const auto& [begin, piece] : one.pieces)
            graph_memory_.unbind(begin);
    }
    clock_.hold(stream, one.done);
    clock_.enqueue(stream, one.duration);
    one.done = clock_.busy_until(stream);
    if (slab)
        graph_memory_.use(*slab, graph, stream, one.done);
    run(one, graph, slab);
    charge(kCall, one.steps.size());
    return {};
}

DeviceResult<void> SimDevice::destroy_graph(GraphId graph) {
    constexpr DeviceCall kCall = DeviceCall::destroy_graph;
    count(kCall);
    const auto found = graphs_.find(to_integer(graph));
    if (found == graphs_.end())
        return refuse(kCall, DeviceStatus::invalid_value);
    for (const auto& [begin, piece] : found->second.pieces) {
        if (graph_memory_.live_at(begin) == nullptr)
            graph_memory_.unreserve(piece.range);
    }
    graphs_.erase(found);
    charge(kCall, 0);
    return {};
}

}  // namespace tidemark
