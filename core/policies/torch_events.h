// TorchEvents: which blocks other streams use too, and what freed blocks wait for.
//
// A freed block waits for an event on each stream other than its own that used it; Block::waits is
// their number. Blocks that are freed inside a scope (of a graph's capture, or of a MemPool) get
// their events when the last scope has ended, and none for streams that came inside a scope: their
// work was captured, not run. Blocks that no longer wait for anything are in done(), in the order
// in which that happened; the caller takes them out.
//
// A value that names its device only in calls. Not thread-safe. O(log blocks + streams) a block,
// and one query to the device for each stream that has events.
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

    // The program has seen all users of the block finish.
    void forget(BlockId id) { uses_.erase(id); }

    // Freed inside a scope.
    void defer(BlockId id) { deferred_.push_back(id); }

    // Freed: records the events. If a stream refuses one, waits for the stream; if that fails too,
    // the block waits forever, since nobody can tell when the stream has finished.
    void insert(BlockId id, Blocks& blocks, Device& device, AllocatorStats& stats);

    // The same for blocks that were freed inside scopes; the last scope has ended.
    void insert_deferred(Blocks& blocks, Device& device, AllocatorStats& stats);

    // Asks the device which events have passed.
    void poll(Blocks& blocks, Device& device);

    // Waits for the streams that have events of blocks which it `concerns`.
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
