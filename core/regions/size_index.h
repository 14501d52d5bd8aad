// SizeIndex: free blocks ordered by (size, address), for best fit with the lowest address first.
//
// Model: TLSF's two levels of bitmaps (Masmano et al., 2004) pick a bin: an octave of sizes cut
// into 64. But a bin is ordered, not a list: a treap (Seidel & Aragon, 1996) whose priorities are
// hashes of block numbers, so that the answer is the exact best fit and the shape depends on the
// calls alone. In real programs a bin holds a block or two, and finding one is two bit scans; in
// the worst case (all sizes equal) everything is still O(log n).
//
// The index stores only roots; the tree's links are in the blocks (Blocks). A block may be in one
// index at a time, and neither its size nor its address may change meanwhile. Sizes are multiples
// of kUnit or are ordered as if rounded down to it within a bin (still exact). Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/regions/blocks.h"

namespace tidemark {

class SizeIndex {
  public:
    static constexpr Bytes kUnit = 512;  // bins below 64 units hold a single size

    // O(log n) expected, O(1) in sparse bins.
    void insert(BlockId id, Blocks& blocks);
    void erase(BlockId id, Blocks& blocks);

    // Removes and returns the first block of at least `size` bytes (best fit, lowest address), or
    // kNoBlock. What first_from and erase do together, in one descent.
    BlockId take_first_from(Bytes size, Blocks& blocks);

    // The first block whose (size, address) is not below (`size`, `address`): best fit for `size`
    // with the default address. kNoBlock if there is none.
    BlockId first_from(Bytes size, const Blocks& blocks, Address address = Address::null) const;

    // The last block whose (size, address) is below (`size`, `address`), or kNoBlock.
    BlockId last_below(Bytes size, const Blocks& blocks, Address address = Address::null) const;

    // The block after `id` in order, or kNoBlock; `id` need not be in the index any more.
    BlockId next(const Block& block, const Blocks& blocks) const {
        const Address after = block.address + 1;  // wraps at the end of the address space
        return after == Address::null ? first_from(block.size + 1, blocks)
                                      : first_from(block.size, blocks, after);
    }

    // The largest size, 0 if empty. O(log n).
    Bytes largest(const Blocks& blocks) const;

    bool empty() const { return octaves_ == 0; }

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

// Joins `id` with its neighbours of that state, which are in `index` and leave it; the block that
// is left, in no index. O(log n).
inline BlockId join_neighbours(BlockId id, Block::State state, Blocks& blocks, SizeIndex& index) {
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
