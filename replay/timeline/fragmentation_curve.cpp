// fragmentation_curve: the sweep, which gets segments and blocks in the order in which they
// come and go, and reading what it wrote.
#include "replay/timeline/fragmentation_curve.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "replay/timeline/release_units.h"
#include "replay/timeline/tree_order.h"

namespace tidemark {
namespace {

constexpr std::size_t kRun = 64;             // events, of a node
constexpr std::size_t kPublished = 1 << 14;  // events at once

// What is to happen at an event.
template <class Index>
struct Due {
    EventIndex event = 0;
    Index index = 0;

    bool operator>(const Due& other) const { return event > other.event; }
};

template <class Index>
using DueList = std::priority_queue<Due<Index>, std::vector<Due<Index>>, std::greater<Due<Index>>>;

}  // namespace

// At one event blocks end first, then segments end, then segments start, then a block does: so a
// segment is empty when it is released, and a block finds its segment.
struct FragmentationCurve::Sweep {
    explicit Sweep(const History& swept) : history(swept) {}

    void begin();
    void run(std::size_t event, std::size_t end);
    void changes(EventIndex event);
    void segments_at(EventIndex event);
    void begin_block(const Block& block, BlockIndex index);
    void end_block(const Block& block, BlockIndex index, EventIndex event);
    void release(const Block& block);
    void wait_for_change();
    void push(FragmentationCurve& curve, std::size_t event);

    std::uint16_t device_of(const Block& block) const { return history.site(block.site).device; }

    struct Level {
        HeldNode node;
        std::size_t children = 0;
    };

    const History& history;
    ReleaseUnits units;
    Bytes taken = 0;         // by all blocks
    std::uint64_t live = 0;  // blocks
    std::size_t begun = 0;
    std::size_t segments = 0;           // that there are
    EventIndex next_change = 0;         // that no event says by itself
    DueList<BlockIndex> ends;           // of blocks, at events that aren't about them
    DueList<SegmentIndex> deaths;       // of segments
    std::vector<BlockIndex> waiting;    // blocks whose end isn't known yet
    std::vector<SegmentIndex> staying;  // segments
    std::array<Bytes, kRun> values = {};
    std::vector<Level> levels = std::vector<Level>(1);
    bool was_growing = false;
};

// Takes in what has become known since the last time.
void FragmentationCurve::Sweep::begin() {
    segments = history.counts().segments;
    std::erase_if(waiting, [&](BlockIndex index) {
        const EventIndex reused = history.block(index).reused;
        if (reused != kNever)
            ends.push({reused, index});
        return reused != kNever;
    });
    std::erase_if(staying, [&](SegmentIndex index) {
        const EventIndex died = history.segment(index).died;
        if (died != kNever)
            deaths.push({died, index});
        return died != kNever;
    });
    was_growing = was_growing || !history.complete();
    wait_for_change();
}

void FragmentationCurve::Sweep::wait_for_change() {
    next_change = kNever;
    if (!ends.empty())
        next_change = std::min(next_change, ends.top().event);
    if (!deaths.empty())
        next_change = std::min(next_change, deaths.top().event);
    if (begun < segments)
        next_change = std::min(next_change, history.segment(static_cast<SegmentIndex>(begun)).born);
}

void FragmentationCurve::Sweep::release(const Block& block) {
    units.release(device_of(block), block);
    taken -= block.size;
    --live;
}

void FragmentationCurve::Sweep::changes(EventIndex event) {
    for (; !ends.empty() && ends.top().event <= event; ends.pop())
        release(history.block(ends.top().index));
    segments_at(event);
    wait_for_change();
}

void FragmentationCurve::Sweep::segments_at(EventIndex event) {
    for (; !deaths.empty() && deaths.top().event <= event; deaths.pop())
        units.end(history.segment(deaths.top().index));
    for (; begun < segments; ++begun) {
        const auto index = static_cast<SegmentIndex>(begun);
        const Segment segment = history.segment(index);
        if (segment.born > event)
            break;
        if (segment.died <= event)
            continue;
        units.begin(segment);
        if (segment.died == kNever)
            staying.push_back(index);
        else
            deaths.push({segment.died, index});
    }
    units.settle();
}

// An end that no event is about: the program took the block's slot for another one.
void FragmentationCurve::Sweep::begin_block(const Block& block, BlockIndex index) {
    units.take(device_of(block), block);
    taken += block.size;
    ++live;
    if (block.freed == kNever || history.block_at(block.freed) == index)
        return;
    ends.push({block.reused, index});
    next_change = std::min(next_change, block.reused);
}

void FragmentationCurve::Sweep::end_block(const Block& block, BlockIndex index, EventIndex event) {
    if (block.freed != event)
        return;  // the end of a wait, which `ends` knows of
    if (block.reused == event) {
        release(block);
    } else if (block.reused == kNever) {
        waiting.push_back(index);
    } else {
        ends.push({block.reused, index});
        next_change = std::min(next_change, block.reused);
    }
}

// Up to 64 events. All their blocks are looked at before the first is needed: they lie anywhere.
void FragmentationCurve::Sweep::run(std::size_t first, std::size_t end) {
    std::array<Block, kRun> blocks;
    std::array<BlockIndex, kRun> indices;
    for (std::size_t i = 0; i < end - first; ++i) {
        indices[i] = history.block_at(static_cast<EventIndex>(first + i));
        if (indices[i] != kNoBlock)
            blocks[i] = history.block(indices[i]);
    }
    for (std::size_t i = 0; i < end - first; ++i) {
        const auto event = static_cast<EventIndex>(first + i);
        const bool begins = indices[i] != kNoBlock && blocks[i].born == event;
        if (indices[i] != kNoBlock && !begins)
            end_block(blocks[i], indices[i], event);
        if (event >= next_change) [[unlikely]]
            changes(event);
        if (begins)
            begin_block(blocks[i], indices[i]);
        values[(first + i) % kRun] = taken + units.fragmented();
    }
}

// The values up to `event` of a run of 64, which there is room for; with its last one its node.
void FragmentationCurve::Sweep::push(FragmentationCurve& curve, std::size_t end) {
    for (std::size_t event = curve.columns_.held.pushed(); event < end; ++event) {
        const Bytes value = values[event % kRun];
        curve.columns_.held.add(value);
        HeldNode& node = levels[0].node;
        node.min = std::min(node.min, value);
        node.max = std::max(node.max, value);
    }
    if (end % kRun != 0)
        return;
    for (std::size_t level = 0;; ++level) {
        const HeldNode done = std::exchange(levels[level], {}).node;
        curve.columns_.nodes.add(done);
        if (level + 1 == levels.size())
            levels.emplace_back();
        Level& above = levels[level + 1];
        above.node.min = std::min(above.node.min, done.min);
        above.node.max = std::max(above.node.max, done.max);
        if (++above.children < TreeOrder::kFanOut)
            return;
    }
}

FragmentationCurve::FragmentationCurve(std::shared_ptr<const History> history)
    : history_(std::move(history)), sweep_(std::make_unique<Sweep>(*history_)) {}

FragmentationCurve::~FragmentationCurve() = default;

Result<std::shared_ptr<FragmentationCurve>> FragmentationCurve::create(
    std::shared_ptr<const History> history) {
    std::shared_ptr<FragmentationCurve> curve(new FragmentationCurve(std::move(history)));
    // extend() asks for more than there will be.
    const std::size_t most = curve->history_->most_events() + 2 * kPublished;
    TM_ASSIGN(curve->columns_.held, MappedColumn<Bytes>::create("", most));
    TM_ASSIGN(curve->columns_.nodes, MappedColumn<HeldNode>::create("", most / kRun * 2));
    return curve;
}

std::shared_ptr<FragmentationCurve> FragmentationCurve::of(std::shared_ptr<const History> history,
                                                           FragmentationColumns columns) {
    const std::size_t events = history->counts().events;
    TM_CHECK(history->complete() && columns.held.size() == events &&
             columns.nodes.size() == FragmentationColumns::nodes_of(events));
    std::shared_ptr<FragmentationCurve> curve(new FragmentationCurve(std::move(history)));
    curve->columns_ = std::move(columns);
    return curve;
}

std::size_t FragmentationColumns::nodes_of(std::size_t events) {
    return TreeOrder::count(events / kRun);
}

Result<bool> FragmentationCurve::extend(const std::atomic<bool>& cancelled) {
    const bool complete = history_->complete();
    const std::size_t to = history_->counts().events;
    if (complete && events() == to && !sweep_->was_growing)
        return true;
    sweep_->begin();
    for (std::size_t event = events(); event < to;) {
        const std::size_t stop = std::min(to, (event / kPublished + 1) * kPublished);
        TM_TRY(columns_.held.make_room(kPublished));
        TM_TRY(columns_.nodes.make_room(kPublished / kRun * 2));
        while (event < stop) {
            const std::size_t end = std::min(stop, (event / kRun + 1) * kRun);
            sweep_->run(event, end);
            sweep_->push(*this, end);
            swept_ += end - event;
            event = end;
        }
        columns_.nodes.publish();
        columns_.held.publish();
        if (cancelled)
            return true;
    }
    if (!complete || !sweep_->was_growing || to == 0)
        return true;
    std::uint64_t live = 0;
    history_->for_each_live(static_cast<EventIndex>(to - 1), [&live](BlockIndex) { ++live; });
    return live == sweep_->live;
}

Bytes FragmentationCurve::fragmentation(EventIndex event) const {
    const SeriesValues values = history_->values(event);
    const Bytes held = columns_.held[event];
    return held - std::min(held, values[Series::active]);
}

void FragmentationCurve::columns(std::span<const SeriesColumn> of,
                                 std::span<HeldColumn> columns) const {
    const std::size_t known = events();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::size_t begin = of[i].first_event;
        columns[i] =
            begin > known ? HeldColumn{} : column(begin, std::min(begin + of[i].events, known));
    }
}

// Of the events [begin, end), with what held before them.
HeldColumn FragmentationCurve::column(std::size_t begin, std::size_t end) const {
    const Bytes before = begin > 0 ? columns_.held[begin - 1] : 0;
    HeldColumn column{before, before, end > begin ? columns_.held[end - 1] : before};
    const auto take = [&column](Bytes min, Bytes max) {
        column.min = std::min(column.min, min);
        column.max = std::max(column.max, max);
    };
    const auto part = [&](std::size_t from, std::size_t to) {
        for (std::size_t event = from; event < to; ++event)
            take(columns_.held[event], columns_.held[event]);
    };
    const std::size_t first_whole = (begin + kRun - 1) / kRun;
    const std::size_t end_whole = end / kRun;
    if (first_whole >= end_whole) {
        part(begin, end);
        return column;
    }
    part(begin, first_whole * kRun);
    TreeOrder::cover(first_whole, end_whole, [&](std::size_t level, std::size_t index) {
        const HeldNode& node = columns_.nodes[TreeOrder::position(level, index)];
        take(node.min, node.max);
    });
    part(end_whole * kRun, end);
    return column;
}

}  // namespace tidemark
