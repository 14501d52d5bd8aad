// The treap: inserting splits a subtree, erasing merges two, and sizes are passed upwards.
#include "core/regions/address_index.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/regions/treap_priority.h"

namespace tidemark {
namespace {

Bytes largest_below(BlockId id, const Blocks& blocks) {
    return id == kNoBlock ? 0 : blocks[id].stamp;
}

void update_largest(BlockId id, Blocks& blocks) {
    Block& block = blocks[id];
    block.stamp = std::max(
        {block.size, largest_below(block.left, blocks), largest_below(block.right, blocks)});
}

// Cuts `tree` into what is below `address` and the rest.
void split_tree(BlockId tree, Address address, BlockId& below, BlockId& rest, Blocks& blocks) {
    if (tree == kNoBlock) {
        below = rest = kNoBlock;
        return;
    }
    if (blocks[tree].address < address) {
        below = tree;
        split_tree(blocks[tree].right, address, blocks[tree].right, rest, blocks);
    } else {
        rest = tree;
        split_tree(blocks[tree].left, address, below, blocks[tree].left, blocks);
    }
    update_largest(tree, blocks);
}

// All of `below` is below `above`.
BlockId merge_trees(BlockId below, BlockId above, Blocks& blocks) {
    if (below == kNoBlock || above == kNoBlock)
        return below == kNoBlock ? above : below;
    BlockId top = below;
    if (treap_priority(below) > treap_priority(above)) {
        blocks[below].right = merge_trees(blocks[below].right, above, blocks);
    } else {
        blocks[above].left = merge_trees(below, blocks[above].left, blocks);
        top = above;
    }
    update_largest(top, blocks);
    return top;
}

void erase_below(BlockId& link, BlockId id, Blocks& blocks) {
    TM_CHECK(link != kNoBlock);
    if (link == id) {
        link = merge_trees(blocks[id].left, blocks[id].right, blocks);
        return;
    }
    const bool left = blocks[id].address < blocks[link].address;
    erase_below(left ? blocks[link].left : blocks[link].right, id, blocks);
    update_largest(link, blocks);
}

void update_path(BlockId link, BlockId id, Blocks& blocks) {
    if (link != id) {
        const Block& above = blocks[link];
        update_path(blocks[id].address < above.address ? above.left : above.right, id, blocks);
    }
    update_largest(link, blocks);
}

}  // namespace

void AddressIndex::insert(BlockId id, Blocks& blocks) {
    const std::uint32_t mine = treap_priority(id);
    const Block& block = blocks[id];
    BlockId* link = &root_;
    while (*link != kNoBlock && treap_priority(*link) >= mine) {
        Block& above = blocks[*link];
        above.stamp = std::max(above.stamp, block.size);
        link = block.address < above.address ? &above.left : &above.right;
    }
    split_tree(*link, block.address, blocks[id].left, blocks[id].right, blocks);
    *link = id;
    update_largest(id, blocks);
}

void AddressIndex::erase(BlockId id, Blocks& blocks) {
    const Block& block = blocks[id];
    BlockId* link = &root_;
    // Ancestors that know of a larger one stay as they are.
    while (*link != id && blocks[*link].stamp > block.size) {
        Block& above = blocks[*link];
        link = block.address < above.address ? &above.left : &above.right;
    }
    erase_below(*link, id, blocks);
}

void AddressIndex::resized(BlockId id, Bytes before, Blocks& blocks) {
    const Block& block = blocks[id];
    BlockId link = root_;
    while (link != id && blocks[link].stamp > before) {
        Block& above = blocks[link];
        above.stamp = std::max(above.stamp, block.size);
        link = block.address < above.address ? above.left : above.right;
    }
    update_path(link, id, blocks);
}

BlockId AddressIndex::first_from(Bytes size, const Blocks& blocks) const {
    if (root_ == kNoBlock || blocks[root_].stamp < size)
        return kNoBlock;
    for (BlockId id = root_;;) {
        const Block& block = blocks[id];
        if (block.left != kNoBlock && blocks[block.left].stamp >= size)
            id = block.left;
        else if (block.size >= size)
            return id;
        else
            id = block.right;
    }
}

}  // namespace tidemark
