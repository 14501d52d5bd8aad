// Bins by bit scan, treaps inside the bins.
#include "core/regions/size_index.h"

#include <bit>

#include "core/regions/treap_priority.h"

namespace tidemark {
namespace {

template <class Index>
bool is_before(const Block& block, Bytes size, std::uint64_t rank) {
    return block.size != size ? block.size < size : Index::rank_of(block) < rank;
}

// The full order. No two blocks that a device handed out have the same address; if a recorded state
// claims so, numbers decide, and the tree stays valid.
template <class Index>
bool is_before(BlockId a, BlockId b, const Blocks& blocks) {
    const Block& first = blocks[a];
    const Block& second = blocks[b];
    if (first.size != second.size)
        return first.size < second.size;
    const std::uint64_t rank = Index::rank_of(first);
    const std::uint64_t other = Index::rank_of(second);
    return rank != other ? rank < other : a < b;
}

// Cuts the tree `from` into those before `id`, hung to `low`, and the rest, to `high`.
template <class Index>
void cut(BlockId from, BlockId id, BlockId* low, BlockId* high, Blocks& blocks) {
    while (from != kNoBlock) {
        Block& block = blocks[from];
        if (is_before<Index>(from, id, blocks)) {
            *low = from;
            low = &block.right;
            from = block.right;
        } else {
            *high = from;
            high = &block.left;
            from = block.left;
        }
    }
    *low = kNoBlock;
    *high = kNoBlock;
}

// Joins two trees, all of `low` being before all of `high`, into `target`.
void join(BlockId low, BlockId high, BlockId* target, Blocks& blocks) {
    while (low != kNoBlock && high != kNoBlock) {
        if (treap_priority(low) > treap_priority(high)) {
            *target = low;
            target = &blocks[low].right;
            low = *target;
        } else {
            *target = high;
            target = &blocks[high].left;
            high = *target;
        }
    }
    *target = low != kNoBlock ? low : high;
}

BlockId leftmost(BlockId tree, const Blocks& blocks) {
    while (blocks[tree].left != kNoBlock)
        tree = blocks[tree].left;
    return tree;
}

BlockId rightmost(BlockId tree, const Blocks& blocks) {
    while (blocks[tree].right != kNoBlock)
        tree = blocks[tree].right;
    return tree;
}

template <class Index>
BlockId tree_first_from(BlockId tree, Bytes size, std::uint64_t rank, const Blocks& blocks) {
    BlockId best = kNoBlock;
    while (tree != kNoBlock) {
        const Block& block = blocks[tree];
        if (is_before<Index>(block, size, rank)) {
            tree = block.right;
        } else {
            best = tree;
            tree = block.left;
        }
    }
    return best;
}

template <class Index>
BlockId tree_last_below(BlockId tree, Bytes size, std::uint64_t rank, const Blocks& blocks) {
    BlockId best = kNoBlock;
    while (tree != kNoBlock) {
        const Block& block = blocks[tree];
        if (is_before<Index>(block, size, rank)) {
            best = tree;
            tree = block.right;
        } else {
            tree = block.left;
        }
    }
    return best;
}

}  // namespace

// Adding kBins to the size in units makes the first octave linear (a bin for each size below kBins
// units) without a branch; the order is unchanged.
template <SizeTie tie>
typename BasicSizeIndex<tie>::Bin BasicSizeIndex<tie>::bin_of(Bytes size) {
    const std::uint64_t units = size / kUnit + kBins;
    const unsigned octave = static_cast<unsigned>(std::bit_width(units)) - 1 - kBinBits;
    return {octave, static_cast<unsigned>(units >> octave) & (kBins - 1)};
}

template <SizeTie tie>
void BasicSizeIndex<tie>::insert(BlockId id, Blocks& blocks) {
    Block& block = blocks[id];
    const Bin bin = bin_of(block.size);
    if (group_[bin.octave] == kNoGroup) [[unlikely]] {
        group_[bin.octave] = static_cast<std::uint8_t>(roots_.size());
        roots_.emplace_back().fill(kNoBlock);
    }
    bins_[bin.octave] |= std::uint64_t{1} << bin.bin;
    octaves_ |= std::uint64_t{1} << bin.octave;
    BlockId* link = &root(bin);
    if (*link == kNoBlock) {
        *link = id;
        block.left = kNoBlock;
        block.right = kNoBlock;
        return;
    }
    const std::uint32_t mine = treap_priority(id);
    while (*link != kNoBlock && treap_priority(*link) > mine) {
        Block& other = blocks[*link];
        link = is_before<BasicSizeIndex>(*link, id, blocks) ? &other.right : &other.left;
    }
    const BlockId below = *link;
    *link = id;
    cut<BasicSizeIndex>(below, id, &block.left, &block.right, blocks);
}

template <SizeTie tie>
void BasicSizeIndex<tie>::unlink(BlockId* link, Bin bin, Blocks& blocks) {
    const Block& block = blocks[*link];
    if (block.left == kNoBlock)
        *link = block.right;
    else if (block.right == kNoBlock)
        *link = block.left;
    else
        join(block.left, block.right, link, blocks);
    // Without branches: whether a bin becomes empty is practically random.
    const std::uint64_t bin_empty = root(bin) == kNoBlock ? 1 : 0;
    bins_[bin.octave] &= ~(bin_empty << bin.bin);
    const std::uint64_t octave_empty = bins_[bin.octave] == 0 ? 1 : 0;
    octaves_ &= ~(octave_empty << bin.octave);
}

template <SizeTie tie>
void BasicSizeIndex<tie>::erase(BlockId id, Blocks& blocks) {
    const Block& block = blocks[id];
    const Bin bin = bin_of(block.size);
    BlockId* link = &root(bin);
    while (*link != id) {
        TM_CHECK(*link != kNoBlock);
        Block& other = blocks[*link];
        link = is_before<BasicSizeIndex>(*link, id, blocks) ? &other.right : &other.left;
    }
    unlink(link, bin, blocks);
}

template <SizeTie tie>
BlockId BasicSizeIndex<tie>::take_first_from(Bytes size, Blocks& blocks) {
    Bin bin = bin_of(size);
    BlockId* best = nullptr;
    if (has(bin)) {
        for (BlockId* link = &root(bin); *link != kNoBlock;) {
            Block& block = blocks[*link];
            if (block.size < size) {
                link = &block.right;
            } else {
                best = link;
                link = &block.left;
            }
        }
    }
    if (best == nullptr) {
        if (!next_bin(bin))
            return kNoBlock;
        best = &root(bin);
        while (blocks[*best].left != kNoBlock)
            best = &blocks[*best].left;
    }
    const BlockId id = *best;
    unlink(best, bin, blocks);
    return id;
}

template <SizeTie tie>
bool BasicSizeIndex<tie>::next_bin(Bin& bin) const {
    const std::uint64_t above = bins_[bin.octave] & (~std::uint64_t{0} << bin.bin << 1U);
    const std::uint64_t octaves = octaves_ & (~std::uint64_t{0} << bin.octave << 1U);
    if (above == 0 && octaves == 0)
        return false;
    bin.octave = above != 0 ? bin.octave : static_cast<unsigned>(std::countr_zero(octaves));
    bin.bin = static_cast<unsigned>(std::countr_zero(above != 0 ? above : bins_[bin.octave]));
    return true;
}

template <SizeTie tie>
bool BasicSizeIndex<tie>::previous_bin(Bin& bin) const {
    const std::uint64_t below = bins_[bin.octave] & ((std::uint64_t{1} << bin.bin) - 1);
    if (below != 0) {
        bin.bin = static_cast<unsigned>(std::bit_width(below)) - 1;
        return true;
    }
    const std::uint64_t octaves = octaves_ & ((std::uint64_t{1} << bin.octave) - 1);
    if (octaves == 0)
        return false;
    bin.octave = static_cast<unsigned>(std::bit_width(octaves)) - 1;
    bin.bin = static_cast<unsigned>(std::bit_width(bins_[bin.octave])) - 1;
    return true;
}

template <SizeTie tie>
BlockId BasicSizeIndex<tie>::first_from(Bytes size, const Blocks& blocks, Rank rank) const {
    Bin bin = bin_of(size);
    if (has(bin)) {
        const BlockId found = tree_first_from<BasicSizeIndex>(
            root(bin), size, static_cast<std::uint64_t>(rank), blocks);
        if (found != kNoBlock)
            return found;
    }
    return next_bin(bin) ? leftmost(root(bin), blocks) : kNoBlock;
}

template <SizeTie tie>
BlockId BasicSizeIndex<tie>::last_below(Bytes size, const Blocks& blocks, Rank rank) const {
    Bin bin = bin_of(size);
    if (has(bin)) {
        const BlockId found = tree_last_below<BasicSizeIndex>(
            root(bin), size, static_cast<std::uint64_t>(rank), blocks);
        if (found != kNoBlock)
            return found;
    }
    return previous_bin(bin) ? rightmost(root(bin), blocks) : kNoBlock;
}

template <SizeTie tie>
Bytes BasicSizeIndex<tie>::largest(const Blocks& blocks) const {
    if (empty())
        return 0;
    const unsigned octave = static_cast<unsigned>(std::bit_width(octaves_)) - 1;
    const unsigned bin = static_cast<unsigned>(std::bit_width(bins_[octave])) - 1;
    return blocks[rightmost(root({octave, bin}), blocks)].size;
}

template class BasicSizeIndex<SizeTie::address>;
template class BasicSizeIndex<SizeTie::stamp>;

}  // namespace tidemark
