// Blocks: the pieces into which a policy cuts its segments, in address order.
//
// A segment is a doubly linked chain of blocks that tile it; splitting and merging touch only
// neighbours. Blocks are in an arena and are named by 32-bit numbers, so a policy's whole state is
// plain vectors: copying it copies the allocator. A number is reused after `release`, last first.
//
// Not thread-safe. Every operation is O(1); a block is one cache line.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/base/units.h"
#include "core/base/vacant_ids.h"
#include "core/regions/stream_set.h"

namespace tidemark {

using BlockId = std::uint32_t;
constexpr BlockId kNoBlock = 0xffffffffU;

struct Block {
    enum class State : std::uint8_t { vacant, free, allocated, waiting, unmapped };

    Address address = Address::null;
    Bytes size = 0;
    BlockId prev = kNoBlock;  // neighbours in the segment
    BlockId next = kNoBlock;
    BlockId left = kNoBlock;  // children in a SizeIndex
    BlockId right = kNoBlock;
    std::uint32_t list = 0;  // the policy's: which free list it belongs to
    State state = State::vacant;
    std::uint32_t waits = 0;        // the policy's: events that it still waits for
    std::uint32_t reservation = 0;  // the policy's: 1 + which one contains it; 0 = plain memory
    std::uint64_t stamp = 0;        // the policy's: a point on its own clock
    StreamSet streams;              // see StreamSet

    // The only block of its segment.
    bool whole_segment() const { return prev == kNoBlock && next == kNoBlock; }

    // The same, in plain memory.
    bool plain_segment() const { return whole_segment() && reservation == 0; }
};

static_assert(sizeof(Block) <= 64, "one block, one cache line");

class Blocks {
  public:
    Block& operator[](BlockId id) {
        TM_CHECK_DEBUG(id < blocks_.size());
        return blocks_[id];
    }

    const Block& operator[](BlockId id) const {
        TM_CHECK_DEBUG(id < blocks_.size());
        return blocks_[id];
    }

    // A block without neighbours, of state `free`. Amortised O(1); may move all blocks (references
    // do not survive it).
    BlockId create(Address address, Bytes size, std::uint32_t list);

    // Releases the number. The block must be unlinked.
    void release(BlockId id) {
        blocks_[id].state = Block::State::vacant;
        vacant_.give_back(id);
    }

    // Cuts `id` after its first `size` bytes and returns the new block with the rest, of the same
    // list and state `free`. References to blocks do not survive it.
    BlockId split(BlockId id, Bytes size);

    // Cuts off the first `size` bytes of `id` and returns the new block with them, in the same way;
    // `id` keeps the rest.
    BlockId split_front(BlockId id, Bytes size);

    // Joins `id` with the block after it, whose number is released.
    void merge_next(BlockId id);

    // The numbers of all blocks that begin a segment, by address. O(blocks log blocks).
    std::vector<BlockId> segments() const;

    // Calls visit(block, segment) for every block, segment by segment, in address order; `segment`
    // is the range that its chain tiles. O(blocks log blocks).
    template <class Visit>
    void for_each(Visit visit) const {
        for_each_run([](const Block&) { return true; }, visit);
    }

    // The same for the blocks that belong(block), where a segment is a longest run of such blocks.
    template <class Belongs, class Visit>
    void for_each_run(Belongs belongs, Visit visit) const {
        for (BlockId begin : segments()) {
            while (begin != kNoBlock) {
                Range run{blocks_[begin].address, 0};
                BlockId end = begin;
                for (; end != kNoBlock && belongs(blocks_[end]); end = blocks_[end].next)
                    run.size += blocks_[end].size;
                for (BlockId id = begin; id != end; id = blocks_[id].next)
                    visit(blocks_[id], run);
                begin = end == kNoBlock ? kNoBlock : blocks_[end].next;
            }
        }
    }

    std::size_t count() const { return vacant_.in_use(); }

  private:
    std::vector<Block> blocks_;
    VacantIds vacant_;
};

}  // namespace tidemark
