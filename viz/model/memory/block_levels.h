// BlockLevels: which blocks are large and live long: found in a tree of runs of blocks, each with
// the largest size among those that live so long, so that a question about a window costs what it
// finds and not what the run holds.
//
// Made for one unit of the axis: how long a block lives is said in its positions. Building it walks
// all blocks, some 50 ns each; it keeps 1.4 bytes a block. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "replay/timeline/history.h"
#include "replay/timeline/tree_order.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

class BlockLevels {
  public:
    // Knows no block yet.
    BlockLevels(std::shared_ptr<const History> history, AxisUnit unit);

    const History& history() const { return *history_; }

    AxisUnit unit() const { return unit_; }

    // Takes in the blocks that the history has by now. O(those that are new). Cancelled: some are
    // not in the tree yet, which makes questions slower, not wrong.
    void extend(const Cancelled& cancelled);

    // Calls `visit(index, block)`, by birth, for each block of `least` bytes or more that lives at
    // least `life` positions and lives after an event of [begin, end], as the program sees it: what
    // only waits for its device has ended.
    template <class Visit>
    void for_each(EventIndex begin, EventIndex end, Bytes least, Position life,
                  Visit&& visit) const;

  private:
    static constexpr std::size_t kRun = 32;    // blocks of a leaf
    static constexpr std::size_t kLives = 32;  // classes of lives, a factor of four each

    struct Node {
        Position last_born = 0;
        std::array<std::uint8_t, kLives> most{};  // size class, of what lives so long or longer
    };

    static std::size_t life_class(Position life);
    static std::uint8_t size_class(Bytes size);

    void add_run(BlockIndex begin);
    Position life_of(const Block& block) const;

    std::shared_ptr<const History> history_;
    AxisUnit unit_;
    std::size_t runs_ = 0;     // complete
    std::vector<Node> nodes_;  // in TreeOrder
};

template <class Visit>
void BlockLevels::for_each(EventIndex begin, EventIndex end, Bytes least, Position life,
                           Visit&& visit) const {
    const Position from = history_->position(unit_, begin);
    const std::size_t beyond = history_->born_before(end + 1);
    const std::uint8_t size = size_class(least);
    // What was born in a node and lives at `from` has lived since.
    const auto holds = [&](const Node& node) {
        return node.most[life_class(std::max(life, from - node.last_born))] >= size;
    };
    for (std::size_t run = 0; run * kRun < beyond;) {
        std::size_t level = 0;
        bool skipped = false;
        if (run < runs_) {
            level = TreeOrder::level_from(run, runs_);
            for (;; --level) {
                const std::size_t index = run >> (TreeOrder::kBits * level);
                skipped = !holds(nodes_[TreeOrder::position(level, index)]);
                if (skipped || level == 0)
                    break;
            }
        }
        const std::size_t stop = std::min(beyond, (run + 1) * kRun);
        for (std::size_t index = run * kRun; index < stop && !skipped; ++index) {
            const Block block = history_->block(static_cast<BlockIndex>(index));
            if (block.size >= least && block.freed > begin && life_of(block) >= life)
                visit(static_cast<BlockIndex>(index), block);
        }
        run += std::size_t{1} << (TreeOrder::kBits * level);
    }
}

}  // namespace tidemark::viz
