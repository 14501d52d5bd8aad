// ExtentSmall: requests below a megabyte, packed into slabs that the extent pool lends from its
// line, so that they don't fragment it.
//
// Model: best fit in all slabs, preferring a block of the request's own stream. A slab is returned
// as soon as it is empty. A value. Not thread-safe. O(log blocks) a call.
#pragma once

#include <optional>

#include "core/device/device.h"
#include "core/regions/blocks.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {

class ExtentSmall {
  public:
    // What becomes of an empty slab: the block of the line that it is, and who may use it.
    struct Emptied {
        BlockId slab = kNoBlock;
        StreamSet streams;
    };

    const Block& operator[](BlockId id) const { return blocks_[id]; }

    // A free block of at least `size` bytes, or kNoBlock: among the tightest ones, one of the
    // stream.
    BlockId find(Bytes size, StreamId stream) const;

    // Grants the first `size` bytes of a free block.
    void take(BlockId block, Bytes size, StreamId stream);

    // A new slab, which is the line's block `slab`; the free block that it is.
    BlockId add(Range range, BlockId slab, StreamSet streams, std::uint64_t freed);

    void record_use(BlockId id, StreamId stream) { blocks_[id].streams.add(stream); }

    // A granted block becomes free; if its slab is empty now, the slab is removed.
    std::optional<Emptied> give_back(BlockId id, std::uint64_t freed);

    Bytes largest_free() const { return free_.largest(blocks_); }

    // Calls visit(block) for each block, slab by slab, by address. Block::list is its slab.
    template <class Visit>
    void for_each(Visit visit) const {
        blocks_.for_each([&](const Block& block, Range) { visit(block); });
    }

  private:
    Blocks blocks_;  // Block::list: the slab
    SizeIndex free_;
};

}  // namespace tidemark::policies
