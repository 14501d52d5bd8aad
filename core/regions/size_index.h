// SizeIndex: free blocks ordered by (size, address), for best fit with the lowest address first;
// AgedSizeIndex: by (size, Block::stamp), for best fit with the oldest first.
//
// Model: TLSF's two levels of bitmaps (Masmano et al., 2004) pick a bin: an octave of sizes cut
// into 64. But a bin is ordered, not a list: a treap (Seidel & Aragon, 1996) whose priorities are
// hashes of block numbers, so that the answer is the exact best fit and the shape depends only on
// the calls. In real programs a bin holds a block or two, and finding one is two bit scans; in the
// worst case (all sizes equal) everything is still O(log n).
//
// The index stores only roots; the tree's links are in the blocks (Blocks). A block may be in one
// index at a time, and neither its size nor its rank (address, stamp) may change meanwhile. Sizes
// are multiples of kUnit, or are ordered as if rounded down to it within a bin (still exact). Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/regions/blocks.h"

namespace tidemark {

// What orders blocks of one size.
enum class SizeTie : std::uint8_t { address, stamp };

template <SizeTie tie>
class BasicSizeIndex {
  public:
    using Rank = std::conditional_t<tie == SizeTie::address, Address, std::uint64_t>;

    static constexpr Bytes kUnit = 512;  // bins below 64 units hold a single size

    // O(log n) expected, O(1) in sparse bins.
    void insert(BlockId id, Blocks& blocks);
    void erase(BlockId id, Blocks& blocks);

    // Removes and returns the first block of at least `size` bytes (best fit, lowest rank), or
    // kNoBlock. The same as first_from and erase, in one descent.
    BlockId take_first_from(Bytes size, Blocks& blocks);

    // The first block whose (size, rank) is not below (`size`, `rank`): best fit for `size` with
    // the default rank. kNoBlock if there is none.
    BlockId first_from(Bytes size, const Blocks& blocks, Rank rank = Rank{}) const;

    // The last block whose (size, rank) is below (`size`, `rank`), or kNoBlock.
    BlockId last_below(Bytes size, const Blocks& blocks, Rank rank = Rank{}) const;

    // The block after `id` in order, or kNoBlock; `id` need no longer be in the index.
    BlockId next(const Block& block, const Blocks& blocks) const {
        const std::uint64_t after = rank_of(block) + 1;  // wraps at the end of the address space
        return after == 0 ? first_from(block.size + 1, blocks)
                          : first_from(block.size, blocks, Rank{after});
    }

    // The largest size, 0 if empty. O(log n).
    Bytes largest(const Blocks& blocks) const;

    bool empty() const { return octaves_ == 0; }

    static std::uint64_t rank_of(const Block& block) {
        return tie == SizeTie::address ? to_integer(block.address) : block.stamp;
    }

  private:
    static constexpr unsigned kBinBits = 6;
    static constexpr unsigned kBins = 1U << kBinBits;
    static constexpr unsigned kOctaves = 56;
    static constexpr std::uint8_t kNoGroup = 0xff;

    struct Bin {
        unsigned octave;
        unsigned bin;
    };

    static Bin bin_of(Bytes size);

    static constexpr std::array<std::uint8_t, kOctaves> no_groups() {
        std::array<std::uint8_t, kOctaves> groups{};
        groups.fill(kNoGroup);
        return groups;
    }

    BlockId& root(Bin bin) { return roots_[group_[bin.octave]][bin.bin]; }

    BlockId root(Bin bin) const { return roots_[group_[bin.octave]][bin.bin]; }

    bool has(Bin bin) const { return (bins_[bin.octave] >> bin.bin & 1U) != 0; }

    void unlink(BlockId* link, Bin bin, Blocks& blocks);  // removes the block at `link` of that bin
    bool next_bin(Bin& bin) const;      // to the first non-empty bin above; false if none
    bool previous_bin(Bin& bin) const;  // to the last non-empty bin below; false if none

    std::uint64_t octaves_ = 0;                               // bit o: bins_[o] != 0
    std::array<std::uint64_t, kOctaves> bins_{};              // bit b: root of (o, b) is not empty
    std::array<std::uint8_t, kOctaves> group_ = no_groups();  // octave -> index into roots_
    std::vector<std::array<BlockId, kBins>> roots_;           // only octaves that were ever used
};

using SizeIndex = BasicSizeIndex<SizeTie::address>;
using AgedSizeIndex = BasicSizeIndex<SizeTie::stamp>;

// Joins `id` with its neighbours of that state, which are in `index` and leave it; returns the
// remaining block, which is in no index. O(log n).
template <class Index>
BlockId join_neighbours(BlockId id, Block::State state, Blocks& blocks, Index& index) {
    const BlockId prev = blocks[id].prev;
    const BlockId next = blocks[id].next;
    const bool join_prev = prev != kNoBlock && blocks[prev].state == state;
    const bool join_next = next != kNoBlock && blocks[next].state == state;
    if (join_next) {
        index.erase(next, blocks);
        blocks.merge_next(id);
    }
    if (!join_prev)
        return id;
    index.erase(prev, blocks);
    blocks.merge_next(prev);
    return prev;
}

}  // namespace tidemark
