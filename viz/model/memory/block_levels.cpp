// Builds the tree.
#include "viz/model/memory/block_levels.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace tidemark::viz {

BlockLevels::BlockLevels(std::shared_ptr<const History> history, AxisUnit unit)
    : history_(std::move(history)), unit_(unit) {}

std::size_t BlockLevels::life_class(Position life) {
    const auto power = static_cast<std::size_t>(
        std::bit_width(static_cast<std::uint64_t>(std::max<Position>(life, 0))));
    return std::min(power / 2, kLives - 1);
}

// Quarters of powers of two, rising; 0 means no block at all.
std::uint8_t BlockLevels::size_class(Bytes size) {
    const auto power = static_cast<unsigned>(std::bit_width(size));
    const Bytes quarter = power < 3 ? 0 : size >> (power - 3) & 3U;
    return static_cast<std::uint8_t>(std::min(4 * power + quarter + 1, Bytes{255}));
}

// Of a block that has not ended nobody knows the lifetime: it counts as infinite.
Position BlockLevels::life_of(const Block& block) const {
    if (block.freed == kNever)
        return std::numeric_limits<Position>::max();
    return history_->position(unit_, block.freed) - history_->position(unit_, block.born);
}

void BlockLevels::extend(const Cancelled& cancelled) {
    const std::size_t runs = history_->counts().blocks / kRun;
    nodes_.reserve(TreeOrder::count(runs));
    for (; runs_ < runs && !cancelled; ++runs_)
        add_run(static_cast<BlockIndex>(runs_ * kRun));
}

void BlockLevels::add_run(BlockIndex begin) {
    Node node;
    for (BlockIndex index = begin; index < begin + kRun; ++index) {
        const Block block = history_->block(index);
        std::uint8_t& most = node.most[life_class(life_of(block))];
        most = std::max(most, size_class(block.size));
        node.last_born = history_->position(unit_, block.born);
    }
    for (std::size_t life = kLives - 1; life > 0; --life)
        node.most[life - 1] = std::max(node.most[life - 1], node.most[life]);
    nodes_.push_back(node);
    // Nodes that have all of their children now.
    for (std::size_t level = 1, done = runs_ + 1; done % TreeOrder::kFanOut == 0; ++level) {
        done /= TreeOrder::kFanOut;
        Node above;
        for (std::size_t child = (done - 1) * TreeOrder::kFanOut; child < done * TreeOrder::kFanOut;
             ++child) {
            const Node& below = nodes_[TreeOrder::position(level - 1, child)];
            for (std::size_t life = 0; life < kLives; ++life)
                above.most[life] = std::max(above.most[life], below.most[life]);
            above.last_born = below.last_born;
        }
        nodes_.push_back(above);
    }
}

}  // namespace tidemark::viz
