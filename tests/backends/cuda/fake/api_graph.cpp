// The fake driver's calls: capture, and graphs. A graph is the list of what was queued while it was
// captured, in that order; a launch queues it again.
#include <algorithm>

#include "tests/backends/cuda/fake/fake_call.h"
#include "tests/backends/cuda/fake/fake_memory.h"
#include "tests/backends/cuda/fake/fake_queue.h"

namespace tidemark::cuda {

using fake::as_handle;
using fake::as_id;
using fake::call;
using fake::Capture;
using fake::current_context;
using fake::Executable;
using fake::Graph;
using fake::GraphBlock;
using fake::kContext;
using fake::kStarted;
using fake::state;
using fake::Stream;
using fake::this_thread;

namespace {

// Do all streams that joined the capture end in its first one?
bool joined(const Capture& capture) {
    const auto& known = capture.knows.at(capture.origin);
    return std::all_of(capture.knows.begin(), capture.knows.end(), [&](const auto& stream) {
        const auto own = stream.second.find(stream.first);
        const std::uint64_t count = own == stream.second.end() ? 0 : own->second;
        const auto seen = known.find(stream.first);
        return count == (seen == known.end() ? 0 : seen->second);
    });
}

void leave_capture(const std::shared_ptr<Capture>& capture) {
    for (auto& [id, stream] : state().streams) {
        if (stream.capture == capture)
            stream.capture = nullptr;
    }
}

CUresult why_no_graph(const Capture& capture) {
    if (capture.invalidated)
        return CUresult::stream_capture_invalidated;
    if (capture.mode != CUstreamCaptureMode::relaxed && capture.thread != this_thread().id)
        return CUresult::stream_capture_wrong_thread;
    return joined(capture) ? CUresult::success : CUresult::stream_capture_unjoined;
}

// Memory of a graph's own that nobody can use any more.
void forget_blocks(const std::vector<std::uint64_t>& addresses) {
    for (const std::uint64_t address : addresses) {
        const auto block = state().graph_blocks.find(address);
        if (block->second.backed)
            fake::give_span(address);
        else
            state().arena.space().give(address);
        state().graph_blocks.erase(block);
    }
}

// Bytes for what the graph allocates, at its first launch.
bool back_all(const Graph& graph) {
    return std::all_of(graph.allocations.begin(), graph.allocations.end(), [](auto address) {
        GraphBlock& block = state().graph_blocks.at(address);
        block.backed = block.backed || fake::back_graph_block(address, block);
        return block.backed;
    });
}

// A launch while memory of the last one is still allocated is refused, unless it was agreed that a
// launch frees it.
bool may_allocate_again(const Executable& executable) {
    for (const std::uint64_t address : executable.graph.allocations) {
        GraphBlock& block = state().graph_blocks.at(address);
        if (block.live && executable.auto_free)
            block.live = false;
        if (block.live)
            return false;
    }
    return true;
}

}  // namespace

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    return call("cuStreamIsCapturing", kContext, [&] {
        std::uint64_t id = 0;
        const Stream* const stream = fake::find_stream(handle, id);
        if (stream == nullptr)
            return CUresult::invalid_handle;
        *status = !stream->capture               ? CUstreamCaptureStatus::none
                  : stream->capture->invalidated ? CUstreamCaptureStatus::invalidated
                                                 : CUstreamCaptureStatus::active;
        return CUresult::success;
    });
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
    return call("cuStreamBeginCapture_v2", kContext, [&] {
        std::uint64_t id = 0;
        Stream* const stream = fake::find_stream(handle, id);
        if (stream == nullptr)
            return CUresult::invalid_handle;
        if (id == current_context()->default_stream)
            return CUresult::stream_capture_unsupported;
        if (stream->capture)
            return CUresult::illegal_state;
        stream->capture = std::make_shared<Capture>();
        stream->capture->mode = mode;
        stream->capture->origin = id;
        stream->capture->thread = this_thread().id;
        stream->capture->knows[id];
        return CUresult::success;
    });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
    return call("cuStreamEndCapture", kContext, [&] {
        std::uint64_t id = 0;
        const Stream* const stream = fake::find_stream(handle, id);
        *graph = nullptr;
        if (stream == nullptr)
            return CUresult::invalid_handle;
        if (!stream->capture)
            return CUresult::illegal_state;
        const std::shared_ptr<Capture> capture = stream->capture;
        if (capture->origin != id) {
            capture->invalidated = true;
            return CUresult::stream_capture_unmatched;
        }
        const CUresult code = why_no_graph(*capture);
        leave_capture(capture);
        if (code != CUresult::success) {
            forget_blocks(capture->allocations);
            return code;
        }
        const std::uint64_t made = state().new_id();
        state().graphs.emplace(made,
                               Graph{std::move(capture->nodes), std::move(capture->allocations),
                                     std::move(capture->freed)});
        *graph = as_handle<CUgraph>(made);
        return CUresult::success;
    });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    return call("cuThreadExchangeStreamCaptureMode", kStarted, [&] {
        std::swap(*mode, this_thread().mode);
        return CUresult::success;
    });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                     unsigned long long flags) {
    return call("cuGraphInstantiateWithFlags", kContext, [&] {
        const auto found = state().graphs.find(as_id(graph));
        if (found == state().graphs.end() || (flags & ~kAutoFreeOnLaunch) != 0)
            return CUresult::invalid_value;
        const Graph& from = found->second;
        if (!from.allocations.empty()) {
            for (const auto& [id, other] : state().executables) {
                // Its addresses can serve one executable graph only.
                if (other.graph.allocations == from.allocations)
                    return CUresult::not_supported;
            }
        }
        const std::uint64_t made = state().new_id();
        state().executables.emplace(made, Executable{from, (flags & kAutoFreeOnLaunch) != 0});
        *executable = as_handle<CUgraphExec>(made);
        return CUresult::success;
    });
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
    return call("cuGraphLaunch", kContext, [&] {
        std::uint64_t id = 0;
        const Stream* const stream = fake::find_stream(handle, id);
        const auto found = state().executables.find(as_id(executable));
        if (stream == nullptr || found == state().executables.end())
            return CUresult::invalid_handle;
        if (stream->capture)
            return CUresult::not_supported;  // the fake's graphs hold no graphs
        if (!may_allocate_again(found->second))
            return CUresult::invalid_value;
        if (!back_all(found->second.graph))
            return CUresult::out_of_memory;
        for (const fake::Operation& node : found->second.graph.nodes) {
            const CUresult queued = fake::enqueue(id, node);
            if (queued != CUresult::success)
                return queued;
        }
        return CUresult::success;
    });
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
    return call("cuGraphExecDestroy", kContext, [&] {
        const auto found = state().executables.find(as_id(executable));
        if (found == state().executables.end())
            return CUresult::invalid_value;
        fake::finish_all(0);
        const std::vector<std::uint64_t> own = found->second.graph.allocations;
        state().executables.erase(found);
        const bool needed =
            std::any_of(state().graphs.begin(), state().graphs.end(),
                        [&](const auto& graph) { return graph.second.allocations == own; });
        if (!needed)
            forget_blocks(own);
        return CUresult::success;
    });
}

CUresult cuGraphDestroy(CUgraph graph) {
    return call("cuGraphDestroy", kContext, [&] {
        const auto found = state().graphs.find(as_id(graph));
        if (found == state().graphs.end())
            return CUresult::invalid_value;
        const std::vector<std::uint64_t> own = found->second.allocations;
        state().graphs.erase(found);
        const bool needed =
            std::any_of(state().executables.begin(), state().executables.end(),
                        [&](const auto& each) { return each.second.graph.allocations == own; });
        if (!needed)
            forget_blocks(own);
        return CUresult::success;
    });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
    return call("cuGraphGetNodes", kStarted, [&] {
        const auto found = state().graphs.find(as_id(graph));
        if (found == state().graphs.end() || count == nullptr)
            return CUresult::invalid_value;
        const std::size_t all = found->second.nodes.size();
        for (std::size_t i = 0; nodes != nullptr && i < std::min(all, *count); ++i)
            nodes[i] = as_handle<CUgraphNode>(as_id(graph) + i + 1);
        *count = nodes == nullptr ? all : std::min(all, *count);
        return CUresult::success;
    });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute what, void* value) {
    return call("cuDeviceGetGraphMemAttribute", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        const bool used = what == CUgraphMem_attribute::used_mem_current ||
                          what == CUgraphMem_attribute::used_mem_high;
        std::uint64_t bytes = 0;
        for (const auto& [address, block] : state().graph_blocks) {
            if (block.device == device && (used ? block.live : block.backed))
                bytes += block.size;
        }
        *static_cast<std::uint64_t*>(value) = bytes;
        return CUresult::success;
    });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
    return call("cuDeviceGraphMemTrim", kStarted, [&] {
        return state().has_device(device) ? CUresult::success : CUresult::invalid_device;
    });
}

}  // namespace tidemark::cuda
