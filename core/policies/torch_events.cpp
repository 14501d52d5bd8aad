// TorchEvents: recording, asking, waiting.
#include "core/policies/torch_events.h"

#include <algorithm>
#include <utility>

namespace tidemark::policies {
namespace {

void insert_sorted(std::vector<StreamId>& streams, StreamId stream) {
    const auto position = std::lower_bound(streams.begin(), streams.end(), stream);
    if (position == streams.end() || *position != stream)
        streams.insert(position, stream);
}

}  // namespace

void TorchEvents::record_use(BlockId id, StreamId stream, bool in_scope) {
    Uses& uses = uses_[id];
    insert_sorted(uses.streams, stream);
    if (in_scope)
        insert_sorted(uses.scoped, stream);
}

void TorchEvents::insert(BlockId id, Blocks& blocks, Device& device, AllocatorStats& stats) {
    Block& block = blocks[id];
    for (const StreamId stream : uses_[id].streams) {
        if (const DeviceResult<EventId> event = device.record(stream)) {
            ++block.waits;
            pending_[stream].push_back({*event, id});
        } else if (device.synchronize(stream)) {
            ++stats.synchronizations;
        } else {
            ++block.waits;
        }
    }
    uses_.erase(id);
    block.streams = {};
    if (block.waits == 0)
        done_.push_back(id);
}

void TorchEvents::insert_deferred(Blocks& blocks, Device& device, AllocatorStats& stats) {
    for (const BlockId id : std::exchange(deferred_, {})) {
        Uses& uses = uses_[id];
        std::erase_if(uses.streams, [&uses](StreamId stream) {
            return std::binary_search(uses.scoped.begin(), uses.scoped.end(), stream);
        });
        insert(id, blocks, device, stats);
    }
}

void TorchEvents::poll(Blocks& blocks, Device& device) {
    for (auto queue = pending_.begin(); queue != pending_.end();) {
        std::deque<Pending>& waiting = queue->second;
        while (!waiting.empty()) {
            const DeviceResult<bool> done = device.complete(waiting.front().event);
            if (!done || !*done)
                break;
            passed(waiting.front().block, blocks);
            waiting.pop_front();
        }
        queue = waiting.empty() ? pending_.erase(queue) : std::next(queue);
    }
}

void TorchEvents::await(const std::function<bool(BlockId)>& concerns, Blocks& blocks,
                        Device& device, AllocatorStats& stats) {
    ++stats.synchronizations;  // PyTorch counts such waits, whether there is something to wait for
    for (auto queue = pending_.begin(); queue != pending_.end();) {
        std::deque<Pending>& waiting = queue->second;
        const auto first = std::stable_partition(
            waiting.begin(), waiting.end(),
            [&concerns](const Pending& pending) { return !concerns(pending.block); });
        if (first == waiting.end() || !device.synchronize(queue->first)) {
            ++queue;
            continue;
        }
        for (auto one = first; one != waiting.end(); ++one)
            passed(one->block, blocks);
        waiting.erase(first, waiting.end());
        queue = waiting.empty() ? pending_.erase(queue) : std::next(queue);
    }
}

void TorchEvents::passed(BlockId id, Blocks& blocks) {
    if (--blocks[id].waits == 0)
        done_.push_back(id);
}

}  // namespace tidemark::policies
