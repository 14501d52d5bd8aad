// torch: memory that other streams use too, and the events that tell when they are done.
#include <algorithm>

#include "core/policies/torch_allocator.h"

namespace tidemark::policies {
namespace {

void insert_sorted(std::vector<StreamId>& streams, StreamId stream) {
    const auto position = std::lower_bound(streams.begin(), streams.end(), stream);
    if (position == streams.end() || *position != stream)
        streams.insert(position, stream);
}

}  // namespace

void Torch::record_use(const Allocation& allocation, StreamId stream) {
    Block& block = blocks_[allocation.node];
    if (pools_.list(block.list).stream == stream)
        return;
    block.streams.add(stream);
    Uses& uses = uses_[allocation.node];
    insert_sorted(uses.streams, stream);
    if (open_scopes_ != 0)
        insert_sorted(uses.scoped, stream);
}

// An event on each stream that uses the block, which has been let go; free at once if there is
// none.
void Torch::insert_events(BlockId id) {
    Block& block = blocks_[id];
    for (const StreamId stream : uses_[id].streams) {
        if (const DeviceResult<EventId> event = device_->record(stream)) {
            ++block.waits;
            pending_[stream].push_back({*event, id});
        } else if (device_->synchronize(stream)) {
            ++stats_.synchronizations;
        } else {
            ++block.waits;  // nobody can say when that stream is done: it waits for ever
        }
    }
    uses_.erase(id);
    block.streams = {};
    if (block.waits == 0)
        free_block(id);
}

// What was let go inside scopes, after the last of them has ended. Streams that came to use a block
// inside a scope are forgotten: their work was captured, not run.
void Torch::process_deferred() {
    const std::vector<BlockId> deferred = std::move(deferred_);
    deferred_.clear();
    for (const BlockId id : deferred) {
        Uses& uses = uses_[id];
        std::erase_if(uses.streams, [&uses](StreamId stream) {
            return std::binary_search(uses.scoped.begin(), uses.scoped.end(), stream);
        });
        insert_events(id);
    }
}

void Torch::process_events() {
    for (auto queue = pending_.begin(); queue != pending_.end();) {
        std::deque<Pending>& waiting = queue->second;
        while (!waiting.empty()) {
            const DeviceResult<bool> done = device_->complete(waiting.front().event);
            if (!done || !*done)
                break;
            event_done(waiting.front().block);
            waiting.pop_front();
        }
        queue = waiting.empty() ? pending_.erase(queue) : std::next(queue);
    }
}

// Waits for the streams on which blocks that it `concerns` have events, and frees those blocks.
void Torch::await_events(const std::function<bool(BlockId)>& concerns) {
    for (auto queue = pending_.begin(); queue != pending_.end();) {
        std::deque<Pending>& waiting = queue->second;
        const auto first = std::stable_partition(
            waiting.begin(), waiting.end(),
            [&concerns](const Pending& pending) { return !concerns(pending.block); });
        if (first == waiting.end() || !device_->synchronize(queue->first)) {
            ++queue;
            continue;
        }
        ++stats_.synchronizations;
        for (auto done = first; done != waiting.end(); ++done)
            event_done(done->block);
        waiting.erase(first, waiting.end());
        queue = waiting.empty() ? pending_.erase(queue) : std::next(queue);
    }
}

void Torch::event_done(BlockId id) {
    if (--blocks_[id].waits == 0)
        free_block(id);
}

}  // namespace tidemark::policies
