// SegregatedLists: free blocks in lists by size, for a good fit found in constant time.
//
// Model: TLSF's two levels (Masmano et al., 2004): an octave of sizes is cut into `steps` lists,
// two levels of bitmaps show which lists have blocks. A request is rounded up to the next list, so
// any block of the first list that has one fits; the newest is taken. Sizes below `steps` units
// have a list each.
//
// The lists' links are in the blocks (Block::left, Block::right): a block may be in one index at a
// time. Sizes are multiples of kUnit. A value. Not thread-safe. O(1) unless stated otherwise.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/regions/blocks.h"
#include "core/regions/segments.h"

namespace tidemark {

class SegregatedLists {
  public:
    static constexpr Bytes kUnit = 512;
    static constexpr unsigned kMostSteps = 64;

    // `steps` is a power of two, at most kMostSteps.
    explicit SegregatedLists(unsigned steps)
        : step_bits_(static_cast<unsigned>(std::countr_zero(steps))) {}

    void insert(BlockId id, Blocks& blocks) {
        const List list = list_of(blocks[id].size / kUnit);
        if (heads_.size() <= list.octave)
            heads_.resize(list.octave + std::size_t{1}, no_blocks());
        BlockId& head = heads_[list.octave][list.step];
        blocks[id].left = kNoBlock;
        blocks[id].right = head;
        if (head != kNoBlock)
            blocks[head].left = id;
        head = id;
        steps_[list.octave] |= std::uint64_t{1} << list.step;
        octaves_ |= std::uint64_t{1} << list.octave;
    }

    void erase(BlockId id, Blocks& blocks) {
        const Block& block = blocks[id];
        if (block.right != kNoBlock)
            blocks[block.right].left = block.left;
        if (block.left != kNoBlock) {
            blocks[block.left].right = block.right;
            return;
        }
        const List list = list_of(block.size / kUnit);
        heads_[list.octave][list.step] = block.right;
        if (block.right != kNoBlock)
            return;
        steps_[list.octave] &= ~(std::uint64_t{1} << list.step);
        if (steps_[list.octave] == 0)
            octaves_ &= ~(std::uint64_t{1} << list.octave);
    }

    // The smallest size of a block that first_from(size) doesn't overlook. A segment of this size
    // serves the same request again after it is freed.
    Bytes rounded_up(Bytes size) const {
        const std::uint64_t units = (size + kUnit - 1) / kUnit;
        const unsigned msb = static_cast<unsigned>(std::bit_width(units | 1U)) - 1;
        const unsigned step_bits = msb > step_bits_ ? msb - step_bits_ : 0;
        return align_up(units, std::uint64_t{1} << step_bits) * kUnit;
    }

    // A block of at least `size` bytes, or kNoBlock. One that is just a little larger than `size`
    // may be overlooked: by less than a step.
    BlockId first_from(Bytes size) const {
        List list = list_of(rounded_up(size) / kUnit);
        if (list.octave >= steps_.size())
            return kNoBlock;
        std::uint64_t steps = steps_[list.octave] & (~std::uint64_t{0} << list.step);
        if (steps == 0) {
            const std::uint64_t above = octaves_ & (~std::uint64_t{0} << list.octave << 1U);
            if (above == 0)
                return kNoBlock;
            list.octave = static_cast<unsigned>(std::countr_zero(above));
            steps = steps_[list.octave];
        }
        return heads_[list.octave][static_cast<unsigned>(std::countr_zero(steps))];
    }

    // Removes and returns the block that first_from finds.
    BlockId take_first_from(Bytes size, Blocks& blocks) {
        const BlockId id = first_from(size);
        if (id != kNoBlock)
            erase(id, blocks);
        return id;
    }

    // The largest size that first_from can find; 0 if there are no blocks.
    Bytes largest(const Blocks& /*blocks*/) const {
        if (octaves_ == 0)
            return 0;
        const unsigned octave = static_cast<unsigned>(std::bit_width(octaves_)) - 1;
        const std::uint64_t step = static_cast<unsigned>(std::bit_width(steps_[octave])) - 1;
        const std::uint64_t units =
            octave == 0 ? step : ((std::uint64_t{1} << step_bits_) + step) << (octave - 1);
        return units * kUnit;
    }

  private:
    using Octave = std::array<BlockId, kMostSteps>;

    struct List {
        unsigned octave;
        unsigned step;
    };

    static Octave no_blocks() {
        Octave octave;
        octave.fill(kNoBlock);
        return octave;
    }

    // The list of blocks of this many units, or a little more.
    List list_of(std::uint64_t units) const {
        const std::uint64_t steps = std::uint64_t{1} << step_bits_;
        if (units < steps)
            return {0, static_cast<unsigned>(units)};
        const unsigned above = static_cast<unsigned>(std::bit_width(units)) - 1 - step_bits_;
        return {above + 1, static_cast<unsigned>(units >> above & (steps - 1))};
    }

    unsigned step_bits_;
    std::uint64_t octaves_ = 0;              // bit o: steps_[o] != 0
    std::array<std::uint64_t, 64> steps_{};  // bit s: the list (o, s) has blocks
    std::vector<Octave> heads_;              // only octaves that were ever used
};

// Frees every free block that is a whole segment, by address; see segments.h. O(blocks log blocks).
inline Released release_unused(SegregatedLists& lists, Blocks& blocks, Device& device) {
    Released released;
    for (const BlockId id : blocks.segments()) {
        const Block block = blocks[id];
        if (block.state != Block::State::free || !block.whole_segment() ||
            !device.free(block.address))
            continue;
        lists.erase(id, blocks);
        blocks.release(id);
        released.add(block.size);
    }
    return released;
}

}  // namespace tidemark
