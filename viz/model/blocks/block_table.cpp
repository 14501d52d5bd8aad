// Rows of blocks: collected, filtered, sorted by keys that are read once.
#include "viz/model/blocks/block_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/site_index.h"
#include "viz/model/blocks/site_names.h"

namespace tidemark::viz {
namespace {

// For each site its rank among all of them in alphabetical order; equal names are equal.
std::vector<std::uint32_t> ranks_by_name(const History& history, const Cancelled& cancelled) {
    const std::size_t count = history.counts().sites;
    SiteNames texts(history);
    std::vector<std::string> names(count);
    for (std::size_t i = 0; i < count && !cancelled; ++i)
        names[i] = texts.name(history.site(static_cast<std::uint32_t>(i)));
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(
        order, {}, [&](std::uint32_t i) -> auto& { return names[i]; });
    std::vector<std::uint32_t> ranks(count);
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0 && names[order[i]] != names[order[i - 1]])
            ++rank;
        ranks[order[i]] = rank;
    }
    return ranks;
}

struct KeyedBlock {
    std::uint64_t key = 0;
    BlockIndex block = kNoBlock;
};

class Collector {
  public:
    Collector(const History& history, const BlockQuestion& question, const Cancelled& cancelled)
        : history_(history),
          question_(question),
          cancelled_(cancelled),
          filter_(history, question.filter, cancelled),
          unit_(history.end(AxisUnit::time) > 1 ? AxisUnit::time : AxisUnit::events) {
        if (question.order == BlockOrder::site)
            ranks_ = ranks_by_name(history, cancelled);
    }

    BlockRows rows() {
        const auto take = [this](BlockIndex block) { add(block); };
        if (!question_.span)
            history_.for_each_live(question_.event, take);
        else if (question_.span->end() > question_.span->begin())
            history_.for_each_within(question_.span->begin(), question_.span->last, take);
        if (cancelled_)
            return {};
        std::ranges::sort(keyed_, [this](const KeyedBlock& a, const KeyedBlock& b) {
            if (a.key != b.key)
                return question_.descending ? a.key > b.key : a.key < b.key;
            return a.block < b.block;
        });
        rows_.question = question_;
        rows_.rows.reserve(keyed_.size());
        for (const KeyedBlock& one : keyed_)
            rows_.rows.push_back(one.block);
        return std::move(rows_);
    }

  private:
    void add(BlockIndex index) {
        if (cancelled_)
            return;
        const Block block = history_.block(index);
        const EventIndex until = question_.span ? question_.span->last : question_.event;
        const bool let_go = question_.filter.hides_freed && block.freed <= until;
        if (let_go || !filter_.lets_through(block)) {
            ++rows_.hidden;
            rows_.hidden_bytes += block.size;
            return;
        }
        rows_.bytes += block.size;
        rows_.largest = std::max(rows_.largest, block.size);
        keyed_.push_back({key(block, index), index});
    }

    std::uint64_t key(const Block& block, BlockIndex index) const {
        switch (question_.order) {
            case BlockOrder::size:
                return block.size;
            case BlockOrder::requested:
                return block.requested;
            case BlockOrder::age:
                return ~std::uint64_t{index};  // the oldest is allocated first
            case BlockOrder::lived:
                return block.freed == kNever
                           ? ~std::uint64_t{0}
                           : static_cast<std::uint64_t>(history_.position(unit_, block.freed) -
                                                        history_.position(unit_, block.born));
            case BlockOrder::freed:
                return block.freed;
            case BlockOrder::address:
                return to_integer(block.address);
            case BlockOrder::stream:
                return to_integer(history_.site(block.site).stream);
            case BlockOrder::site:
                return block.site < ranks_.size() ? ranks_[block.site] : ranks_.size();
        }
        return 0;
    }

    const History& history_;
    const BlockQuestion& question_;
    const Cancelled& cancelled_;
    BlockFilter filter_;
    AxisUnit unit_;  // unit of lifetimes
    std::vector<std::uint32_t> ranks_;
    std::vector<KeyedBlock> keyed_;
    BlockRows rows_;
};

std::string blocks_text(std::uint64_t count, Bytes bytes) {
    return fmt::format("{}, {}", format_counted(count, "block"), format_bytes(bytes));
}

}  // namespace

BlockRows block_rows(const History& history, const BlockQuestion& question,
                     const Cancelled& cancelled) {
    return Collector(history, question, cancelled).rows();
}

std::string totals_text(const BlockRows& rows) {
    std::string text = blocks_text(rows.rows.size(), rows.bytes);
    if (rows.hidden > 0)
        text +=
            fmt::format(" (hidden by the filter: {})", blocks_text(rows.hidden, rows.hidden_bytes));
    return text;
}

}  // namespace tidemark::viz
