// BlockTree: the builder's side of the tree of blocks: which nodes are complete, and which are over
// because all of their blocks are. A node is informed of a child only when that is over, so that
// most ends are one decrement.
//
// Used by the builder's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/timeline/history_columns.h"

namespace tidemark {

class BlockTree {
  public:
    // The next block; `nodes` needs room for one node of each level. Amortised O(1).
    void born(MappedColumn<BlockNode>& nodes, BlockIndex block, Address address, Bytes size);

    // Its bytes may be granted again from `event` on. Amortised O(1).
    void over(MappedColumn<BlockNode>& nodes, BlockIndex block, EventIndex event);

  private:
    struct Level {
        BlockNode growing;                // the node that isn't complete yet
        std::size_t children = 0;         // of it, so far
        std::vector<std::uint8_t> alive;  // of each node: children that are not over
    };

    void complete_leaf(MappedColumn<BlockNode>& nodes);

    std::vector<Level> levels_ = std::vector<Level>(1);
};

}  // namespace tidemark
