// VpmmAges: the free regions of VPMM, oldest first.
//
// A log of (number, block), by number (Block::stamp), to which every region that becomes free is
// added. Entries that are no longer free, or have another number by now, are skipped, and dropped
// in time. A value; not thread-safe. O(log regions) a call unless stated otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/regions/blocks.h"

namespace tidemark::policies {

class VpmmAges {
  public:
    // The youngest, one of `count` free regions. Amortised O(1).
    void add(BlockId id, const Blocks& blocks, std::size_t count) {
        if (log_.size() > 2 * count + 64)
            std::erase_if(log_, [&](const Entry& entry) { return !is_current(entry, blocks); });
        log_.push_back({blocks[id].stamp, id});
    }

    // The free region of that number, or kNoBlock.
    BlockId find(std::uint64_t number, const Blocks& blocks) const {
        const auto found = position(number);
        const bool is_there =
            found != log_.end() && found->number == number && is_current(*found, blocks);
        return is_there ? found->block : kNoBlock;
    }

    // From now on the region of that number is another block.
    void move(std::uint64_t number, BlockId to) {
        if (const auto found = position(number); found != log_.end() && found->number == number)
            log_[static_cast<std::size_t>(found - log_.begin())].block = to;
    }

    // Calls visit(block), oldest first. O(regions).
    template <class Visit>
    void for_each(const Blocks& blocks, Visit visit) const {
        for (const Entry& entry : log_) {
            if (is_current(entry, blocks))
                visit(entry.block);
        }
    }

  private:
    struct Entry {
        std::uint64_t number = 0;
        BlockId block = kNoBlock;
    };

    static bool is_current(const Entry& entry, const Blocks& blocks) {
        const Block& block = blocks[entry.block];
        return block.state == Block::State::free && block.stamp == entry.number;
    }

    std::vector<Entry>::const_iterator position(std::uint64_t number) const {
        return std::lower_bound(
            log_.begin(), log_.end(), number,
            [](const Entry& entry, std::uint64_t wanted) { return entry.number < wanted; });
    }

    std::vector<Entry> log_;
};

}  // namespace tidemark::policies
