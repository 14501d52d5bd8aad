// history_builder: adding events, and what follows from each: the series, the tree of blocks, the
// ranges of the program.
#include "replay/timeline/history_builder.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "traces/model/trace.h"

namespace tidemark {
namespace {

constexpr Bytes kMost = std::numeric_limits<Bytes>::max();
// Columns have room for this many more elements than they will have: make_room() requests those of
// a whole batch in each.
constexpr std::size_t kSpare = std::size_t{1} << 17U;
constexpr std::size_t kFewestEvents = std::size_t{1} << 16U;
// One event may complete a node of each level of a tree.
constexpr std::size_t kTreeLevels = 16;

constexpr SeriesNode kEmptyNode{{{kMost, kMost, kMost, kMost}}, {}};

void join(SeriesNode& node, const SeriesNode& child) {
    for (std::size_t s = 0; s < kSeriesCount; ++s) {
        node.min.value[s] = std::min(node.min.value[s], child.min.value[s]);
        node.max.value[s] = std::max(node.max.value[s], child.max.value[s]);
    }
}

std::uint64_t hash_of(const Site& site) {
    std::uint64_t hash = to_integer(site.stream);
    for (const std::uint64_t part :
         {std::uint64_t{to_integer(site.pool)}, std::uint64_t{site.stack}, std::uint64_t{site.tag},
          std::uint64_t{site.device}})
        hash = (hash ^ part) * 0x9e3779b97f4a7c15U + (hash >> 29U);
    return hash;
}

// How many elements a column may have in a history of `events`. An event changes memory in any
// number of segments: most change none.
template <class Element>
std::size_t most_elements(std::size_t events) {
    if constexpr (std::is_same_v<Element, Segment>)
        return events * 16 + kSpare * 8;
    else if constexpr (std::is_same_v<Element, Mark>)
        return events * 4 + kSpare;
    else if constexpr (std::is_same_v<Element, SeriesNode> ||
                       std::is_same_v<Element, SeriesValues> || std::is_same_v<Element, BlockNode>)
        return events / (kLeaf / 2) + kSpare;  // of 64 events, and of nodes of such
    else
        return events + kSpare;
}

}  // namespace

HistoryBuilder::HistoryBuilder()
    : history_(std::make_shared<History>(std::make_unique<History::Columns>())),
      columns_(history_->columns()),
      levels_(1, {kEmptyNode, 0}) {}

// Addresses are reserved for all columns in proportion: as many as `most_events` need, or fewer, so
// that the same number is left for everything else.
Result<std::unique_ptr<HistoryBuilder>> HistoryBuilder::create(int folder,
                                                               std::uint64_t most_events) {
    std::unique_ptr<HistoryBuilder> builder(new HistoryBuilder);
    History::Columns& columns = builder->columns_;
    std::size_t& events = columns.most_events;
    events = std::min(most_events, kMostEvents);
    const auto together = [&] {
        std::size_t bytes = 0;
        static_cast<void>(columns.for_each([&](const char*, auto& column, std::size_t most) {
            using Element = std::remove_reference_t<decltype(column.at(0))>;
            bytes += std::min(most, most_elements<Element>(events)) * sizeof(Element);
            return Result<void>();
        }));
        return bytes;
    };
    while (events / 2 >= kFewestEvents && !has_addresses(2 * together()))
        events /= 2;
    TM_TRY(columns.for_each([&](const char* name, auto& column, std::size_t most) -> Result<void> {
        using Column = std::remove_reference_t<decltype(column)>;
        using Element = std::remove_reference_t<decltype(column.at(0))>;
        TM_ASSIGN(column, Column::create(folder < 0 ? "" : name,
                                         std::min(most, most_elements<Element>(events)), folder));
        return {};
    }));
    return builder;
}

void HistoryBuilder::note(Result<void> result) {
    if (!result && !error_)
        error_ = std::move(result).error();
}

std::uint32_t HistoryBuilder::site(const Site& site) {
    std::vector<std::uint32_t>& same = sites_[hash_of(site)];
    for (const std::uint32_t index : same) {
        if (columns_.sites.at(index) == site)
            return index;
    }
    const auto index = static_cast<std::uint32_t>(columns_.sites.pushed());
    push(columns_.sites, site);
    if (columns_.sites.pushed() == index)
        return 0;  // the disk is full, which make_room() will report
    same.push_back(index);
    return index;
}

Result<void> HistoryBuilder::make_room(std::size_t events) {
    if (error_)
        return tl::make_unexpected(*error_);
    if (columns_.kinds.pushed() + events >= kMostEvents)
        return fail(ErrorCode::unsupported, "a history must have fewer than 2^32 - 1 events");
    TM_TRY(columns_.for_each(
        [events](const char* /*name*/, auto& column, std::size_t /*most*/) -> Result<void> {
            using Element = std::remove_reference_t<decltype(column.at(0))>;
            if constexpr (std::is_same_v<Element, Segment> || std::is_same_v<Element, Annotation> ||
                          std::is_same_v<Element, Mark> || std::is_same_v<Element, Site> ||
                          std::is_same_v<Element, Launch> || std::is_same_v<Element, LaunchUse> ||
                          std::is_same_v<Element, Execution>)
                return {};
            else
                return column.make_room(events + kTreeLevels);
        }));
    room_ = events;
    return {};
}

void HistoryBuilder::push_time(Nanoseconds time) {
    const std::size_t event = columns_.times.pushed();
    last_time_ = event == 0 ? time : std::max(last_time_, time);
    if (event % kLeaf == 0) {
        time_base_ = last_time_;
        columns_.time_bases.add(time_base_);
    }
    const std::uint64_t delta =
        static_cast<std::uint64_t>(last_time_) - static_cast<std::uint64_t>(time_base_);
    if (delta < kWideTime) [[likely]] {
        columns_.times.add(static_cast<std::uint32_t>(delta));
        return;
    }
    columns_.times.add(kWideTime);
    columns_.wide_times.add({event, last_time_});
}

void HistoryBuilder::push_event(Nanoseconds time, EventKind kind, BlockIndex block) {
    TM_CHECK(room_ > 0);
    --room_;
    push_time(time);
    columns_.blocks_of_events.add(block);
    columns_.kinds.add(kind);
}

void HistoryBuilder::correct(std::size_t series, Bytes value, EventIndex event) {
    applied_.value[series] = value;
    columns_.corrections[series].add({event, value});
}

// The series after `event`, whose effect is in base_ already.
inline void HistoryBuilder::follow(const SeriesValues* exact, EventIndex event) {
    SeriesNode& leaf = levels_[0].node;
    for (std::size_t s = 0; s < kSeriesCount; ++s) {
        const Bytes value = exact != nullptr ? exact->value[s] : base_.value[s] + offset_.value[s];
        if (value - base_.value[s] != applied_.value[s]) [[unlikely]]
            correct(s, value - base_.value[s], event);
        values_.value[s] = value;
        leaf.min.value[s] = std::min(leaf.min.value[s], value);
        leaf.max.value[s] = std::max(leaf.max.value[s], value);
    }
    if ((event + 1) % kLeaf == 0)
        close_leaf();
}

void HistoryBuilder::close_leaf() {
    columns_.last_values.add(values_);
    for (std::size_t level = 0;; ++level) {
        const SeriesNode done = levels_[level].node;
        columns_.series.add(done);
        levels_[level] = {kEmptyNode, 0};
        if (level + 1 == levels_.size())
            levels_.push_back({kEmptyNode, 0});
        Level& above = levels_[level + 1];
        join(above.node, done);
        if (++above.children < TreeOrder::kFanOut)
            return;
    }
}

void HistoryBuilder::set_names(HistoryNames names) {
    if (names.devices.size() > 1 && names.devices.back() == kHostMemory)
        host_ = names.devices.size() - 1;
    columns_.set_names(std::move(names));
}

bool HistoryBuilder::is_on_host(std::uint32_t site) const {
    const std::uint32_t index = site & ~kWaited;
    return host_ != ~std::size_t{0} && index < columns_.sites.pushed() &&
           columns_.sites.at(index).device == host_;
}

// The series leave out what the last event did to base_.
void HistoryBuilder::leave_out(const SeriesValues& before) {
    for (std::size_t s = 0; s < kSeriesCount; ++s)
        offset_.value[s] -= base_.value[s] - before.value[s];
}

BlockIndex HistoryBuilder::allocate(Nanoseconds time, const NewBlock& block,
                                    const SeriesValues* values) {
    const EventIndex event = next_event();
    const auto index = static_cast<BlockIndex>(columns_.blocks.pushed());
    push_event(time, EventKind::allocate, index);
    const Bytes slack = block.size - block.requested;
    const bool wide = slack >= kWideSlack;
    columns_.blocks.add({block.address, block.requested,
                         wide ? kWideSlack : static_cast<std::uint32_t>(slack), event, kNever,
                         block.site});
    if (wide)
        columns_.wide_slacks.add({index, slack});
    live_.born(columns_.block_nodes, index, block.address, block.size);
    const SeriesValues before = base_;
    base_[Series::allocated] += block.size;
    base_[Series::active] += block.size;
    base_[Series::requested] += block.requested;
    if (is_on_host(block.site)) [[unlikely]]
        leave_out(before);
    follow(values, event);
    return index;
}

// Is it the end of a block that has ended already, or of none?
bool HistoryBuilder::about_nothing(EventKind kind, BlockIndex block) const {
    if (block >= columns_.blocks.pushed() || kind == EventKind::allocate)
        return true;
    if (kind == EventKind::free || kind == EventKind::retire)
        return columns_.blocks.at(block).freed != kNever;
    return kind == EventKind::finish && columns_.reused_so_far(block) != kNever;
}

void HistoryBuilder::add(const NewEvent& what) {
    TM_CHECK(what.kind != EventKind::use);
    const EventIndex event = next_event();
    if (what.kind == EventKind::free && !what.deferred && end_at_once(what, event)) [[likely]]
        return;
    const BlockIndex block = about_nothing(what.kind, what.block) ? kNoBlock : what.block;
    push_event(what.time, what.kind, block);
    if (what.kind == EventKind::free || what.kind == EventKind::retire ||
        what.kind == EventKind::finish) {
        if (block != kNoBlock) {
            const SeriesValues before = base_;
            end(what, event);
            if (is_on_host(columns_.blocks.at(block).site)) [[unlikely]]
                leave_out(before);
        }
    } else {
        annotate(what, event);
    }
    follow(what.values, event);
}

// Half of all events: the same as end(), with one look at the block. False if it isn't that simple.
inline bool HistoryBuilder::end_at_once(const NewEvent& what, EventIndex event) {
    if (what.block >= columns_.blocks.pushed())
        return false;
    BlockRecord& record = columns_.blocks.at(what.block);
    if (record.freed != kNever || record.slack == kWideSlack)
        return false;
    push_event(what.time, what.kind, what.block);
    set_shared(record.freed, event);
    live_.over(columns_.block_nodes, what.block, event);
    const Bytes size = record.requested + record.slack;
    const SeriesValues before = base_;
    base_[Series::allocated] -= size;
    base_[Series::active] -= size;
    base_[Series::requested] -= record.requested;
    if (is_on_host(record.site)) [[unlikely]]
        leave_out(before);
    follow(what.values, event);
    return true;
}

// An event by which the program frees a block, or the device is done with it.
void HistoryBuilder::end(const NewEvent& what, EventIndex event) {
    const BlockIndex block = what.block;
    if (columns_.blocks.at(block).freed == kNever)
        let_go(block, event, what.kind == EventKind::retire || what.deferred);
    else
        give_back(block, event);
    columns_.apply(what.kind, block, event, base_);
    if (what.deferred)
        offset_[Series::active] += columns_.granted(block);
}

void HistoryBuilder::let_go(BlockIndex block, EventIndex event, bool awaited) {
    BlockRecord& record = columns_.blocks.at(block);
    if (awaited) {
        columns_.waits.add({event, kNever});
        set_shared(record.site, record.site | kWaited);
    } else {
        live_.over(columns_.block_nodes, block, event);
    }
    set_shared(record.freed, event);
}

void HistoryBuilder::give_back(BlockIndex block, EventIndex event) {
    if (Wait* const wait = columns_.wait_of(block); wait != nullptr && wait->reused == kNever) {
        set_shared(wait->reused, event);
        live_.over(columns_.block_nodes, block, event);
    }
}

void HistoryBuilder::reuse(BlockIndex block) {
    TM_CHECK(next_event() > 0 && block < columns_.blocks.pushed());
    const EventIndex event = next_event() - 1;
    const Bytes size = columns_.granted(block);
    const EventIndex freed = columns_.blocks.at(block).freed;
    const Bytes counted = is_on_host(columns_.blocks.at(block).site) ? 0 : size;
    if (freed == kNever) {
        let_go(block, event, false);
        offset_[Series::allocated] -= counted;
        offset_[Series::active] -= counted;
        offset_[Series::requested] -= std::min(counted, columns_.blocks.at(block).requested);
    } else if (columns_.reused_so_far(block) == kNever) {
        give_back(block, event);
        offset_[Series::active] -= counted;
    }
}

// An end closes the innermost range of its name; a range that never started doesn't end.
void HistoryBuilder::annotate(const NewEvent& what, EventIndex event) {
    if (what.kind == EventKind::range_begin) {
        const std::size_t index = columns_.annotations.pushed();
        push(columns_.annotations, {event, kNever, what.name, open_depth_});
        if (columns_.annotations.pushed() > index) {
            open_annotations_[what.name].push_back(index);
            ++open_depth_;
        }
    } else if (what.kind == EventKind::range_end) {
        const auto found = open_annotations_.find(what.name);
        if (found == open_annotations_.end())
            return;
        set_shared(columns_.annotations.at(found->second.back()).end, event);
        --open_depth_;
        found->second.pop_back();
        if (found->second.empty())
            open_annotations_.erase(found);
    } else if (what.kind == EventKind::mark) {
        add_mark({.event = event, .kind = MarkKind::point, .name = what.name});
    } else if (what.kind == EventKind::trim) {
        add_mark({.event = event, .kind = MarkKind::trim});
    }
}

void HistoryBuilder::use(const NewUse& use) {
    const std::size_t stream = to_integer(use.stream);
    if (stream >= open_launches_.size())
        open_launches_.resize(stream + 1);
    OpenLaunch& open = open_launches_[stream];
    if (!open.open || open.number != use.launch) {
        close_launch(stream);
        const std::size_t index = columns_.launches.pushed();
        if (index < LaunchUse::kMostLaunches)
            push(columns_.launches,
                 {.begin = next_event(),
                  .stream = to_integer(use.stream),
                  .tag = use.tag,
                  .first_use = static_cast<std::uint32_t>(columns_.uses.pushed())});
        open = {columns_.launches.pushed() > index, use.launch, static_cast<std::uint32_t>(index)};
        if (open.open) {
            numbered_launches_.resize(kNumberedLaunches);
            numbered_launches_[use.launch % kNumberedLaunches] = {use.launch, open.index};
        }
    }
    LaunchUse one{~std::uint32_t{0}};  // of none: there are too many
    if (open.open) {
        std::uint32_t& uses = columns_.launches.at(open.index).uses;
        set_shared(uses, uses + 1);
        const bool touches = (use.flags & (kReads | kWrites)) != 0;
        const bool perhaps = (use.flags & kPerhaps) != 0;
        one.launch = open.index | (perhaps ? LaunchUse::kPossible : 0U) |
                     (perhaps && !touches ? LaunchUse::kUnknown : 0U);
    }
    push(columns_.uses, one);
    const EventIndex event = next_event();
    push_event(use.time, EventKind::use,
               about_nothing(EventKind::use, use.block) ? kNoBlock : use.block);
    follow(use.values, event);
}

void HistoryBuilder::execution(const NewExecution& execution) {
    std::uint32_t launch = Execution::kNoLaunch;
    if (!numbered_launches_.empty()) {
        const NumberedLaunch& last = numbered_launches_[execution.launch % kNumberedLaunches];
        if (last.number == execution.launch)
            launch = last.index;
    }
    if (columns_.executions.pushed() < LaunchUse::kMostLaunches)
        push(columns_.executions, {.begin = execution.begin,
                                   .length = execution.length,
                                   .launch = launch,
                                   .stream = to_integer(execution.stream),
                                   .tag = execution.tag});
    add({.time = execution.time, .kind = EventKind::execution, .values = execution.values});
}

void HistoryBuilder::close_launch(std::size_t stream) {
    OpenLaunch& open = open_launches_[stream];
    if (std::exchange(open.open, false))
        set_shared(columns_.launches.at(open.index).end, next_event());
}

void HistoryBuilder::change_segment(std::uint16_t device, SegmentChange change, Range range,
                                    StreamId stream, EventIndex event, Address home) {
    Segment segment{.begin = range.begin, .size = range.size, .born = event, .device = device};
    segment.stream = to_integer(stream);
    const bool begins = change == SegmentChange::segment_alloc ||
                        change == SegmentChange::reserve || change == SegmentChange::map;
    if (change == SegmentChange::reserve || change == SegmentChange::unreserve)
        segment.kind = SegmentKind::reservation;
    else if (change == SegmentChange::map || change == SegmentChange::unmap)
        segment.kind = home == Address::null ? SegmentKind::mapping : SegmentKind::view;
    segment.home = home;
    if (change == SegmentChange::map)
        segment.page = range.size;
    note(segments_.change(columns_.segments, segment, begins));
}

void HistoryBuilder::add_mark(const Mark& mark) {
    push(columns_.marks, mark);
}

Result<void> HistoryBuilder::publish() {
    note(columns_.for_each([](const char* /*name*/, auto& column, std::size_t) -> Result<void> {
        column.publish();
        return {};
    }));
    columns_.counts.set({columns_.kinds.pushed(), columns_.blocks.pushed(),
                         columns_.segments.pushed(), columns_.annotations.pushed(),
                         columns_.marks.pushed(), columns_.sites.pushed(),
                         columns_.launches.pushed(), columns_.executions.pushed()});
    if (error_)
        return tl::make_unexpected(*error_);
    return {};
}

Result<void> HistoryBuilder::finish() {
    TM_TRY(publish());
    room_ = 0;
    TM_TRY(columns_.for_each([](const char* /*name*/, auto& column, std::size_t) -> Result<void> {
        return column.finish();
    }));
    columns_.complete.store(true, std::memory_order_release);
    return {};
}

}  // namespace tidemark
