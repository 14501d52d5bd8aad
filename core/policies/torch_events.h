// TorchEvents: which blocks other streams use too, and what those wait for that were let go.
//
// A block that is let go waits for an event on each stream that used it besides its own, the number
// of which is in Block::waits. What is let go inside a scope (of a graph's capture, or of a
// MemPool) gets its events when the last scope has ended, and none for streams that came inside a
// scope: their work was captured, not run. Blocks that wait for nothing any more are in done(), in
// the order of that; the caller takes them out.
//
// A value that names its device only in calls. Not thread-safe. O(log blocks + streams) a block,
// and one question to the device for each stream that has events.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/regions/blocks.h"

namespace tidemark::policies {

class TorchEvents {
  public:
    // Does no block wait?
    bool empty() const { return deferred_.empty() && pending_.empty(); }

    // A stream that isn't the block's own uses it from now on.
    void record_use(BlockId id, StreamId stream, bool in_scope);

    // The program has seen all that uses the block finish.
    void forget(BlockId id) { uses_.erase(id); }

    // Let go inside a scope.
    void defer(BlockId id) { deferred_.push_back(id); }

    // Let go: records the events. Waits for a stream that refuses one; if that fails too the block
    // waits for ever, since nobody can say when the stream is done.
    void insert(BlockId id, Blocks& blocks, Device& device, AllocatorStats& stats);

    // The same for what was let go inside scopes; the last of them has ended.
    void insert_deferred(Blocks& blocks, Device& device, AllocatorStats& stats);

    // Asks the device which events have passed.
    void poll(Blocks& blocks, Device& device);

    // Waits for the streams on which blocks that it `concerns` have events.
    void await(const std::function<bool(BlockId)>& concerns, Blocks& blocks, Device& device,
               AllocatorStats& stats);

    std::vector<BlockId>& done() { return done_; }

  private:
    // Streams, ascending.
    struct Uses {
        std::vector<StreamId> streams;
        std::vector<StreamId> scoped;  // of `streams`, those that came while a scope was open
    };

    struct Pending {
        EventId event{};
        BlockId block = kNoBlock;
    };

    void passed(BlockId id, Blocks& blocks);

    std::map<BlockId, Uses> uses_;  // of blocks whose `streams` isn't empty
    std::map<StreamId, std::deque<Pending>> pending_;
    std::vector<BlockId> deferred_;
    std::vector<BlockId> done_;
};

}  // namespace tidemark::policies
