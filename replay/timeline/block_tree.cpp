// block_tree: births from left to right, ends anywhere.
#include "replay/timeline/block_tree.h"

#include <algorithm>
#include <limits>

namespace tidemark {
void BlockTree::born(MappedColumn<BlockNode>& nodes, BlockIndex block, Address address,
                     Bytes size) {
    Level& leaf = levels_[0];
    if (block % kLeaf == 0)
        leaf.alive.push_back(0);
    ++leaf.alive.back();
    if (size > 0) {
        const std::uint64_t begin = to_integer(address);
        const Bytes room = std::numeric_limits<Bytes>::max() - begin;
        leaf.growing.lowest = std::min(leaf.growing.lowest, begin);
        leaf.growing.highest = std::max(leaf.growing.highest, begin + std::min(size - 1, room));
    }
    if (++leaf.children == kLeaf)
        complete_leaf(nodes);
}

// The growing leaf is written, and so is each node that it completes. None of them is over: the
// last block has just been allocated.
void BlockTree::complete_leaf(MappedColumn<BlockNode>& nodes) {
    for (std::size_t depth = 0;; ++depth) {
        if (depth + 1 == levels_.size())
            levels_.emplace_back();
        Level& done = levels_[depth];
        Level& above = levels_[depth + 1];
        nodes.add(done.growing);
        if (above.children == 0)
            above.alive.push_back(0);
        ++above.alive.back();
        above.growing.lowest = std::min(above.growing.lowest, done.growing.lowest);
        above.growing.highest = std::max(above.growing.highest, done.growing.highest);
        done.growing = {};
        done.children = 0;
        if (++above.children < TreeOrder::kFanOut)
            return;
    }
}

void BlockTree::over(MappedColumn<BlockNode>& nodes, BlockIndex block, EventIndex event) {
    std::size_t index = block / kLeaf;
    for (std::size_t depth = 0;; ++depth) {
        Level& here = levels_[depth];
        if (--here.alive[index] > 0)
            return;
        if (index + 1 == here.alive.size() && here.children > 0)
            return;  // it isn't complete
        set_shared(nodes.at(TreeOrder::position(depth, index)).end, event);
        index /= TreeOrder::kFanOut;
    }
}

}  // namespace tidemark
