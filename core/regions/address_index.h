// AddressIndex: free blocks by address, for first fit: the lowest block that is large enough.
//
// A treap (Seidel & Aragon, 1996) whose priorities are hashes of block numbers, so that its shape
// depends on the blocks alone; each block knows the largest size below it. The links are in the
// blocks (Block::left, Block::right, and Block::stamp for that size): a block may be in one index
// at a time, and keeps address and size while it is, but for resized(). A value. Not thread-safe.
// O(log n) expected.
#pragma once

#include "core/regions/blocks.h"

namespace tidemark {

class AddressIndex {
  public:
    void insert(BlockId id, Blocks& blocks);
    void erase(BlockId id, Blocks& blocks);

    // Its size was `before`, its address may be another; its order among the others is the same.
    void resized(BlockId id, Bytes before, Blocks& blocks);

    // The block of at least `size` bytes that has the lowest address, or kNoBlock.
    BlockId first_from(Bytes size, const Blocks& blocks) const;

    // The largest size, 0 if empty. O(1).
    Bytes largest(const Blocks& blocks) const {
        return root_ == kNoBlock ? 0 : blocks[root_].stamp;
    }

  private:
    BlockId root_ = kNoBlock;
};

}  // namespace tidemark
