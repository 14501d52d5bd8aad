// Walks over a history's blocks that leave out whole subtrees of them.
#pragma once

#include <cstddef>

#include "replay/timeline/history_columns.h"

namespace tidemark {

// Calls `visit(block)` for blocks of [begin, end) in their order, until it returns false, without
// those below a node that `skip(node)` says true of. False if it was stopped. All of the blocks
// must have been published.
template <class Skip, class Visit>
bool walk_forward(const History::Columns& columns, std::size_t begin, std::size_t end, Skip&& skip,
                  Visit&& visit) {
    const std::size_t leaves = end / kLeaf;
    for (std::size_t block = begin; block < end;) {
        const std::size_t leaf = block / kLeaf;
        std::size_t stop = block + 1;
        bool skipped = false;
        if (block % kLeaf == 0 && leaf < leaves) {
            std::size_t level = TreeOrder::level_from(leaf, leaves);
            for (;; --level) {
                const std::size_t index = leaf >> (TreeOrder::kBits * level);
                skipped = skip(columns.block_nodes[TreeOrder::position(level, index)]);
                if (skipped || level == 0)
                    break;
            }
            stop = block + kLeaf * (std::size_t{1} << (TreeOrder::kBits * level));
        }
        for (; block < stop && !skipped; ++block) {
            if (!visit(static_cast<BlockIndex>(block)))
                return false;
        }
        block = stop;
    }
    return true;
}

// The same from end - 1 down to 0.
template <class Skip, class Visit>
bool walk_backward(const History::Columns& columns, std::size_t end, Skip&& skip, Visit&& visit) {
    while (end > 0) {
        const std::size_t leaf = end / kLeaf;  // the first one that is not whole below `end`
        if (end % kLeaf != 0) {
            if (!visit(static_cast<BlockIndex>(--end)))
                return false;
            continue;
        }
        std::size_t level = TreeOrder::level_to(leaf);
        bool skipped = false;
        for (;; --level) {
            const std::size_t index = (leaf >> (TreeOrder::kBits * level)) - 1;
            skipped = skip(columns.block_nodes[TreeOrder::position(level, index)]);
            if (skipped || level == 0)
                break;
        }
        const std::size_t begin = end - kLeaf * (std::size_t{1} << (TreeOrder::kBits * level));
        while (!skipped && end > begin) {
            if (!visit(static_cast<BlockIndex>(--end)))
                return false;
        }
        end = begin;
    }
    return true;
}

}  // namespace tidemark
