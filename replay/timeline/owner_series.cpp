// owner_series: the sweep, and counting between two of the moments that it kept.
#include "replay/timeline/owner_series.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/check.h"
#include "replay/timeline/tree_order.h"
#include "traces/model/trace.h"

namespace tidemark {
namespace {

constexpr std::size_t kOwnerRun = 64;             // events between two moments
constexpr std::size_t kOwnerPublished = 1 << 14;  // events at once

constexpr auto kLater = [](const auto& a, const auto& b) { return a.event > b.event; };

}  // namespace

std::optional<std::uint16_t> host_device(const History& history) {
    const std::vector<std::string>& devices = history.devices();
    if (devices.size() < 2 || devices.back() != kHostMemory)
        return std::nullopt;
    return static_cast<std::uint16_t>(devices.size() - 1);
}

OwnerSeries::OwnerSeries(std::shared_ptr<const History> history, BlockClasses classes, Shows shows)
    : history_(std::move(history)),
      classes_(std::move(classes)),
      shows_(std::move(shows)),
      host_(host_device(*history_)),
      now_(owners()) {}

Result<std::shared_ptr<OwnerSeries>> OwnerSeries::create(std::shared_ptr<const History> history,
                                                         BlockClasses classes, Shows shows) {
    std::shared_ptr<OwnerSeries> series(
        new OwnerSeries(std::move(history), std::move(classes), std::move(shows)));
    // make_room() asks for more than there will be.
    const std::size_t most = series->history_->most_events() + 2 * kOwnerPublished;
    const std::size_t runs = most / kOwnerRun + 1;
    TM_ASSIGN(series->entries_, MappedColumn<Bytes>::create("", runs * series->owners()));
    TM_ASSIGN(series->nodes_, MappedColumn<Node>::create("", 2 * runs));
    TM_ASSIGN(series->owner_of_block_, MappedColumn<std::uint8_t>::create("", most));
    TM_ASSIGN(series->unsaid_, MappedColumn<UnsaidEnd>::create("", most));
    return series;
}

Result<void> OwnerSeries::make_room(std::size_t events) {
    TM_TRY(entries_.make_room((events / kOwnerRun + 1) * owners()));
    TM_TRY(nodes_.make_room(events / kOwnerRun * 2 + 1));
    TM_TRY(owner_of_block_.make_room(events));
    return unsaid_.make_room(due_.size() + events);
}

Result<bool> OwnerSeries::extend(const std::atomic<bool>& cancelled) {
    const std::size_t to = history_->counts().events;
    for (std::size_t event = events(); event < to;) {
        const std::size_t stop = std::min(to, (event / kOwnerPublished + 1) * kOwnerPublished);
        TM_TRY(make_room(kOwnerPublished));
        while (event < stop) {
            const std::size_t end = std::min(stop, (event / kOwnerRun + 1) * kOwnerRun);
            sweep(static_cast<EventIndex>(event), static_cast<EventIndex>(end));
            event = end;
        }
        owner_of_block_.publish();
        unsaid_.publish();
        nodes_.publish();
        entries_.publish();
        events_.store(stop, std::memory_order_release);
        if (cancelled)
            return true;
    }
    if (to == 0)
        return true;
    return sum_ == history_->values(static_cast<EventIndex>(to - 1))[Series::allocated];
}

// Events of one run. All their blocks are looked at before the first is needed: they lie anywhere.
void OwnerSeries::sweep(EventIndex begin, EventIndex end) {
    std::array<Block, kOwnerRun> blocks;
    std::array<BlockIndex, kOwnerRun> indices;
    for (EventIndex event = begin; event < end; ++event) {
        const BlockIndex index = history_->block_at(event);
        indices[event - begin] = index;
        if (index != kNoBlock)
            blocks[event - begin] = history_->block(index);
    }
    if (begin % kOwnerRun == 0)
        for (const Bytes bytes : now_)
            entries_.add(bytes);
    for (EventIndex event = begin; event < end; ++event) {
        const BlockIndex index = indices[event - begin];
        const Block& block = blocks[event - begin];
        if (index != kNoBlock && block.born == event)
            begin_block(block, index, event);
        else if (index != kNoBlock && block.freed == event)
            count(owner_of_block_.at(index), Bytes{0} - block.size);
        for (; !due_.empty() && due_.front().event <= event; due_.pop_back()) {
            std::ranges::pop_heap(due_, kLater);
            unsaid_.add(due_.back());
            const BlockIndex ended = due_.back().block;
            count(owner_of_block_.at(ended), Bytes{0} - history_->block(ended).size);
        }
        Node& leaf = levels_[0].node;
        if (event % kOwnerRun == 0 || sum_ > leaf.most)
            leaf = {sum_, event};
    }
    if (end % kOwnerRun == 0)
        close_leaf();
}

void OwnerSeries::begin_block(const Block& block, BlockIndex index, EventIndex event) {
    TM_CHECK(index == owner_of_block_.pushed());
    const bool counts =
        history_->site(block.site).device != host_ && block.freed != event;  // else it never lived
    const std::uint8_t owner = !counts                    ? kNoOwner
                               : shows_ && !shows_(block) ? static_cast<std::uint8_t>(not_shown())
                                                          : classes_.of(block);
    owner_of_block_.add(owner);
    count(owner, block.size);
    if (counts && block.freed != kNever && history_->block_at(block.freed) != index) {
        due_.push_back({block.freed, index});
        std::ranges::push_heap(due_, kLater);
    }
}

void OwnerSeries::count(std::uint8_t owner, Bytes bytes) {
    if (owner == kNoOwner)
        return;
    now_[owner] += bytes;
    sum_ += bytes;
}

void OwnerSeries::close_leaf() {
    for (std::size_t level = 0;; ++level) {
        const Node done = std::exchange(levels_[level], {}).node;
        nodes_.add(done);
        if (level + 1 == levels_.size())
            levels_.emplace_back();
        Level& above = levels_[level + 1];
        if (above.children == 0 || done.most > above.node.most)
            above.node = done;
        if (++above.children < TreeOrder::kFanOut)
            return;
    }
}

// What events of one run do, in their order.
void OwnerSeries::add_changes(EventIndex begin, EventIndex end,
                              std::vector<Change>& changes) const {
    const std::span<const UnsaidEnd> unsaid = unsaid_.all();
    auto next = std::ranges::lower_bound(unsaid, begin, {}, &UnsaidEnd::event);
    std::array<Block, kOwnerRun> blocks;
    for (EventIndex event = begin; event < end; ++event) {
        const BlockIndex index = history_->block_at(event);
        if (index != kNoBlock)
            blocks[event - begin] = history_->block(index);
    }
    const auto add = [&](EventIndex event, BlockIndex index, Bytes bytes) {
        if (owner_of_block_[index] != kNoOwner)
            changes.push_back({event, owner_of_block_[index], bytes});
    };
    for (EventIndex event = begin; event < end; ++event) {
        const BlockIndex index = history_->block_at(event);
        const Block& block = blocks[event - begin];
        if (index != kNoBlock && block.born == event)
            add(event, index, block.size);
        else if (index != kNoBlock && block.freed == event)
            add(event, index, Bytes{0} - block.size);
        for (; next != unsaid.end() && next->event == event; ++next)
            add(event, next->block, Bytes{0} - history_->block(next->block).size);
    }
}

// Reads moments in rising order; keeps the changes of the run that it read last.
class OwnerSeries::Reader {
  public:
    Reader(const OwnerSeries& series, std::size_t known) : series_(series), known_(known) {}

    void at(EventIndex event, std::span<Bytes> bytes) {
        open(event / kOwnerRun);
        const std::span<const Bytes> entry = entries();
        std::ranges::copy(entry, bytes.begin());
        for (const Change& change : changes_) {
            if (change.event > event)
                break;
            bytes[change.owner] += change.bytes;
        }
    }

    // An event of [begin, end), or the one before, after which most is allocated. Whole runs first:
    // those that are cut are then read only if they can have more.
    EventIndex fullest(std::size_t begin, std::size_t end) {
        best_ = {};
        found_ = false;
        const std::size_t first_whole = (begin + kOwnerRun - 1) / kOwnerRun;
        const std::size_t end_whole = end / kOwnerRun;
        if (first_whole >= end_whole) {
            scan(begin, end);
        } else {
            TreeOrder::cover(first_whole, end_whole, [&](std::size_t level, std::size_t index) {
                const Node& node = series_.nodes_[TreeOrder::position(level, index)];
                offer(node.most, node.event);
            });
            scan(begin, first_whole * kOwnerRun);
            scan(end_whole * kOwnerRun, end);
        }
        if (begin > 0)
            scan(begin - 1, begin);
        return best_.event;
    }

  private:
    void open(std::size_t run) {
        if (run_ == run)
            return;
        run_ = run;
        changes_.clear();
        const std::size_t begin = run * kOwnerRun;
        series_.add_changes(static_cast<EventIndex>(begin),
                            static_cast<EventIndex>(std::min(begin + kOwnerRun, known_)), changes_);
        sum_ = 0;
        for (const Bytes bytes : entries())
            sum_ += bytes;
    }

    std::span<const Bytes> entries() const {
        return {&series_.entries_[run_ * series_.owners()], series_.owners()};
    }

    void offer(Bytes sum, EventIndex event) {
        if (found_ && sum <= best_.most)
            return;
        found_ = true;
        best_ = {sum, event};
    }

    // Event by event; a whole run that can't have more isn't read.
    void scan(std::size_t begin, std::size_t end) {
        while (begin < end) {
            const std::size_t run = begin / kOwnerRun;
            const std::size_t stop = std::min(end, (run + 1) * kOwnerRun);
            const bool whole = (run + 1) * kOwnerRun <= known_;
            if (run != run_ && found_ && whole &&
                series_.nodes_[TreeOrder::position(0, run)].most <= best_.most) {
                begin = stop;
                continue;
            }
            open(run);
            Bytes sum = sum_;
            auto next = changes_.begin();
            for (std::size_t event = run * kOwnerRun; event < stop; ++event) {
                for (; next != changes_.end() && next->event == event; ++next)
                    sum += next->bytes;
                if (event >= begin)
                    offer(sum, static_cast<EventIndex>(event));
            }
            begin = stop;
        }
    }

    const OwnerSeries& series_;
    std::size_t known_;
    std::size_t run_ = ~std::size_t{0};
    std::vector<Change> changes_;
    Bytes sum_ = 0;  // on entry to the run
    Node best_;
    bool found_ = false;
};

void OwnerSeries::at(EventIndex event, std::span<Bytes> bytes) const {
    Reader(*this, events()).at(event, bytes);
}

void OwnerSeries::columns(std::span<const SeriesColumn> of, std::span<EventIndex> moments,
                          std::span<Bytes> bytes) const {
    const std::size_t known = events();
    Reader reader(*this, known);
    for (std::size_t i = 0; i < of.size(); ++i) {
        const std::span<Bytes> column = bytes.subspan(i * owners(), owners());
        const std::size_t begin = of[i].first_event;
        const std::size_t end = std::min(begin + of[i].events, known);
        moments[i] = kNever;
        if (begin > known || (begin == 0 && end == 0)) {
            std::ranges::fill(column, Bytes{0});
            continue;
        }
        moments[i] = reader.fullest(begin, end);
        reader.at(moments[i], column);
    }
}

}  // namespace tidemark
