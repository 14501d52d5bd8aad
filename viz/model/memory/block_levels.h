// BlockLevels: finds blocks that are large and have long lifetimes, in a tree of runs of blocks.
// Each node has the largest size for each class of lifetimes, so that the cost of a query about a
// window depends on what it finds and not on the size of the run.
//
// Made for one unit of the axis: lifetimes are in its positions. Building it walks all blocks,
// about 50 ns each; it keeps 1.4 bytes a block. One thread at a time.
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

    // Adds the blocks that the history has by now. O(new blocks). Cancelled: some are not in the
    // tree yet, which makes queries slower, not wrong.
    void extend(const Cancelled& cancelled);

    // Calls `visit(index, block)`, in order of allocation, for each block of `least` bytes or more
    // with a lifetime of at least `life` positions that is live after an event of [begin, end], as
    // the program sees it: a block that is pending free has ended.
    template <class Visit>
    void for_each(EventIndex begin, EventIndex end, Bytes least, Position life,
                  Visit&& visit) const;

  private:
    static constexpr std::size_t kRun = 32;    // blocks of a leaf
    static constexpr std::size_t kLives = 32;  // classes of lifetimes, a factor of four each

    struct Node {
        Position last_born = 0;
        std::array<std::uint8_t, kLives> most{};  // size class of blocks with this lifetime or a
                                                  // longer one
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
    // A block that was allocated in a node and is live at `from` has been live since.
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
