// AddressIndex: free blocks by address, for first fit: the lowest block that is large enough.
//
// A treap (Seidel & Aragon, 1996) whose priorities are hashes of block numbers, so that its shape
// depends only on the blocks; each block knows the largest size below it. The links are in the
// blocks (Block::left, Block::right, and Block::stamp for that size). So a block may be in only one
// index at a time, and its address and size may not change meanwhile, except by resized(). A value.
// Not thread-safe. O(log n) expected.
#pragma once

#include "core/regions/blocks.h"

namespace tidemark {

class AddressIndex {
  public:
    void insert(BlockId id, Blocks& blocks);
    void erase(BlockId id, Blocks& blocks);

    // Its size was `before`, and its address may have changed; its order among the others is the
    // same.
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
