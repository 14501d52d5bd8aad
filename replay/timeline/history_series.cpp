// history_series: the curves. A column of a chart is a few nodes of the series tree, and at its
// edges the events of two leaves.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/threads.h"
#include "replay/timeline/column_edge.h"
#include "replay/timeline/history.h"
#include "replay/timeline/history_columns.h"

namespace tidemark {
namespace {

void widen(SeriesValues& min, SeriesValues& max, const SeriesValues& low,
           const SeriesValues& high) {
    for (std::size_t s = 0; s < kSeriesCount; ++s) {
        min.value[s] = std::min(min.value[s], low.value[s]);
        max.value[s] = std::max(max.value[s], high.value[s]);
    }
}

bool within(const SeriesNode& node, const SeriesValues& min, const SeriesValues& max) {
    bool inside = true;
    for (std::size_t s = 0; s < kSeriesCount; ++s)
        inside &= node.min.value[s] >= min.value[s] && node.max.value[s] <= max.value[s];
    return inside;
}

// Ranges of events, one after the other. What a range's edges cut is read event by event only if
// that can change the answer; the last leaf that was decoded is kept for the next.
class SeriesReader {
  public:
    SeriesReader(const History::Columns& columns, std::size_t events)
        : columns_(columns), events_(events) {}

    SeriesValues after(std::size_t event) {
        const std::size_t bucket = event / kLeaf;
        if (decoded_ == bucket)
            return values_[event % kLeaf];
        return columns_.values_after(event, events_);
    }

    // Of the events [begin, end), with what held before them; `before` is that if begin > 0.
    SeriesColumn column(std::size_t begin, std::size_t end, const SeriesValues& before) {
        SeriesColumn column;
        column.first_event = static_cast<EventIndex>(begin);
        column.events = static_cast<EventIndex>(end - begin);
        column.min = before;
        column.max = before;
        column.last = before;
        if (begin == end)
            return column;
        if (end - begin < kLeaf) {  // its neighbours need the same leaf
            const std::size_t border = std::min((begin / kLeaf + 1) * kLeaf, end);
            part(column, begin, border);
            part(column, border, end);
            return column;
        }
        nodes(column, level_for(end - begin), begin, end);
        column.last = after(end - 1);
        return column;
    }

    // The columns from `first` on come next.
    void expect(std::span<const std::size_t> edges, std::size_t first) const {
        const auto edge = [&](std::size_t i) {
            return i < edges.size() && edges[i] > 0 ? edges[i] - 1 : events_;
        };
        if (edge(first + kAhead) < events_)
            columns_.prefetch_events(edge(first + kAhead), events_);
        if (edge(first + 1) < events_)
            columns_.prefetch_blocks(edge(first + 1), events_);
        if (first + kAhead < edges.size())
            prefetch_nodes(edges[first + kAhead - 1], edges[first + kAhead]);
    }

  private:
    static constexpr std::size_t kAhead = 6;  // columns

    // Events under a node.
    static constexpr std::size_t span_of(std::size_t level) {
        return kLeaf << (TreeOrder::kBits * level);
    }

    // The highest level whose nodes can fit within so many events.
    static std::size_t level_for(std::size_t events) {
        std::size_t level = 0;
        while (span_of(level + 1) <= events)
            ++level;
        return level;
    }

    void prefetch_nodes(std::size_t begin, std::size_t end) const {
        if (end - begin < kLeaf)
            return;
        const std::size_t level = level_for(end - begin);
        const std::size_t last = std::min(end, events_ - 1) / span_of(level);
        for (std::size_t i = begin / span_of(level); i <= last; ++i) {
            const std::size_t at = TreeOrder::position(level, i);
            if (at < columns_.series.size())
                __builtin_prefetch(&columns_.series[at]);
        }
    }

    // Widens by all events of [begin, end), which nodes of `level` hold: first the nodes that are
    // entirely within, since the two that are cut may then have nothing to add.
    void nodes(SeriesColumn& column, std::size_t level, std::size_t begin, std::size_t end) {
        const std::size_t span = span_of(level);
        const std::size_t first_whole = (begin + span - 1) / span;
        const std::size_t end_whole = end / span;
        for (std::size_t i = first_whole; i < end_whole; ++i) {
            const SeriesNode& node = columns_.series[TreeOrder::position(level, i)];
            widen(column.min, column.max, node.min, node.max);
        }
        if (first_whole > end_whole) {
            cut(column, level, begin, end);
            return;
        }
        cut(column, level, begin, first_whole * span);
        cut(column, level, end_whole * span, end);
    }

    // The same for events of one node of `level`, not all of them. A node that cannot change the
    // column is not read.
    void cut(SeriesColumn& column, std::size_t level, std::size_t begin, std::size_t end) {
        if (begin == end)
            return;
        const std::size_t index = begin / span_of(level);
        if ((index + 1) * span_of(level) <= events_ &&
            within(columns_.series[TreeOrder::position(level, index)], column.min, column.max))
            return;
        if (level == 0)
            part(column, begin, end);
        else
            nodes(column, level - 1, begin, end);
    }

    // Of events of one leaf.
    void part(SeriesColumn& column, std::size_t begin, std::size_t end) {
        if (begin == end)
            return;
        const auto& values = leaf(begin / kLeaf);
        for (std::size_t event = begin; event < end; ++event)
            widen(column.min, column.max, values[event % kLeaf], values[event % kLeaf]);
        column.last = values[(end - 1) % kLeaf];
    }

    const std::array<SeriesValues, kLeaf>& leaf(std::size_t bucket) {
        if (decoded_ != bucket)
            columns_.decode(bucket, events_, values_);
        decoded_ = bucket;
        return values_;
    }

    const History::Columns& columns_;
    std::size_t events_;
    std::optional<std::size_t> decoded_;
    std::array<SeriesValues, kLeaf> values_ = {};
};

// Where a time is among the events; asked in rising order it looks near the last answer first.
class TimeSearch {
  public:
    TimeSearch(const History::Columns& columns, std::size_t events)
        : columns_(columns), events_(events), leaves_((events + kLeaf - 1) / kLeaf) {}

    // The first event at `time` or later.
    std::size_t first_at(Nanoseconds time) { return first_in(first_leaf(time), time); }

    // The first leaf that begins at `time` or later. Sends for the times that first_in() reads.
    std::size_t first_leaf(Nanoseconds time) {
        std::size_t begin = 0;
        std::size_t end = leaves_;
        if (near_ < leaves_ && columns_.time_bases[near_] < time) {
            begin = near_ + 1;
            for (std::size_t step = 1; begin + step < leaves_; step *= 4) {
                if (columns_.time_bases[begin + step] >= time) {
                    end = begin + step;
                    break;
                }
                begin += step + 1;
            }
        }
        while (begin < end) {
            const std::size_t middle = begin + (end - begin) / 2;
            if (columns_.time_bases[middle] < time)
                begin = middle + 1;
            else
                end = middle;
        }
        near_ = begin;
        if (begin > 0)
            columns_.prefetch_times(begin - 1);
        return begin;
    }

    // The first event at `time` or later, where `leaf` is first_leaf(time).
    std::size_t first_in(std::size_t leaf, Nanoseconds time) const {
        if (leaf == 0)
            return 0;
        std::size_t begin = (leaf - 1) * kLeaf + 1;
        std::size_t end = std::min(leaf * kLeaf, events_);
        while (begin < end) {
            const std::size_t middle = begin + (end - begin) / 2;
            if (columns_.time(static_cast<EventIndex>(middle)) < time)
                begin = middle + 1;
            else
                end = middle;
        }
        return begin;
    }

  private:
    const History::Columns& columns_;
    std::size_t events_;
    std::size_t leaves_;
    std::size_t near_ = 0;  // the last answer
};

std::size_t event_at_position(Position position, std::size_t events) {
    if (position <= 0)
        return 0;
    const std::uint64_t event =
        (static_cast<std::uint64_t>(position) + kPositionsPerEvent - 1) / kPositionsPerEvent;
    return static_cast<std::size_t>(std::min<std::uint64_t>(event, events));
}

// The first of the largest values of a series, in order of place.
class PeakSearch {
  public:
    PeakSearch(const History::Columns& columns, Series series, std::size_t events)
        : columns_(columns), series_(series), events_(events) {}

    EventIndex find() {
        const std::size_t leaves = events_ / kLeaf;
        std::size_t from = 0;
        while (from < leaves) {
            const std::size_t level = TreeOrder::level_from(from, leaves);
            offer(level, from >> (TreeOrder::kBits * level));
            from += std::size_t{1} << (TreeOrder::kBits * level);
        }
        std::size_t leaf = leaves;
        if (leaves > 0)
            leaf = descend();
        const std::size_t in_leaf = look(leaf);
        if (leaves == 0 || events_ % kLeaf == 0)
            return static_cast<EventIndex>(in_leaf);
        const Bytes best = value_;
        const std::size_t in_rest = look(leaves);
        return static_cast<EventIndex>(value_ > best ? in_rest : in_leaf);
    }

  private:
    Bytes max_of(std::size_t level, std::size_t index) const {
        return columns_.series[TreeOrder::position(level, index)].max[series_];
    }

    void offer(std::size_t level, std::size_t index) {
        const Bytes value = max_of(level, index);
        if (any_ && value <= value_)
            return;
        any_ = true;
        value_ = value;
        level_ = level;
        index_ = index;
    }

    std::size_t descend() {
        for (; level_ > 0; --level_) {
            index_ <<= TreeOrder::kBits;
            while (max_of(level_ - 1, index_) != value_)
                ++index_;
        }
        return index_;
    }

    // The first largest of a leaf; `value_` is what it is.
    std::size_t look(std::size_t leaf) {
        std::array<SeriesValues, kLeaf> values;
        const std::size_t count = columns_.decode(leaf, events_, values);
        std::size_t best = 0;
        for (std::size_t i = 1; i < count; ++i) {
            if (values[i][series_] > values[best][series_])
                best = i;
        }
        value_ = values[best][series_];
        return leaf * kLeaf + best;
    }

    const History::Columns& columns_;
    Series series_;
    std::size_t events_;
    bool any_ = false;
    Bytes value_ = 0;
    std::size_t level_ = 0;
    std::size_t index_ = 0;
};

// A window cut into columns.
struct ColumnGrid {
    AxisUnit unit = AxisUnit::time;
    Position begin = 0;
    Position end = 0;
    std::size_t columns = 1;

    Position edge(std::size_t i) const { return column_edge(begin, end, i, columns); }
};

// The first events of columns [from, to), and the first event after them. It prefetches all their
// times before it reads any.
std::vector<std::size_t> edges_of(const History::Columns& columns, std::size_t events,
                                  const ColumnGrid& grid, std::size_t from, std::size_t to) {
    std::vector<std::size_t> edges(to - from + 1);
    if (grid.unit == AxisUnit::events) {
        for (std::size_t i = from; i <= to; ++i)
            edges[i - from] = event_at_position(grid.edge(i), events);
        return edges;
    }
    TimeSearch search(columns, events);
    for (std::size_t i = from; i <= to; ++i)
        edges[i - from] = search.first_leaf(grid.edge(i));
    for (std::size_t i = from; i <= to; ++i)
        edges[i - from] = search.first_in(edges[i - from], grid.edge(i));
    return edges;
}

void read_columns(const History::Columns& columns, std::size_t events, const ColumnGrid& grid,
                  std::size_t from, std::span<SeriesColumn> out) {
    const std::vector<std::size_t> edges = edges_of(columns, events, grid, from, from + out.size());
    SeriesReader reader(columns, events);
    SeriesValues held = edges[0] > 0 ? reader.after(edges[0] - 1) : SeriesValues{};
    for (std::size_t i = 0; i < out.size(); ++i) {
        reader.expect(edges, i + 1);
        out[i] = reader.column(edges[i], edges[i + 1], held);
        held = out[i].last;
    }
}

}  // namespace

SeriesValues History::values(EventIndex event) const {
    return SeriesReader(*columns_, columns_->kinds.size()).after(event);
}

EventIndex History::peak_event(Series series) const {
    const std::size_t events = columns_->kinds.size();
    return events == 0 ? 0 : PeakSearch(*columns_, series, events).find();
}

EventIndex History::first_at(Nanoseconds time) const {
    return static_cast<EventIndex>(TimeSearch(*columns_, columns_->kinds.size()).first_at(time));
}

Position History::position(AxisUnit unit, EventIndex event) const {
    return unit == AxisUnit::time ? time(event) : Position{event} * kPositionsPerEvent;
}

EventIndex History::event_from(AxisUnit unit, Position position) const {
    if (unit == AxisUnit::time)
        return first_at(position);
    return static_cast<EventIndex>(event_at_position(position, columns_->kinds.size()));
}

Position History::end(AxisUnit unit) const {
    const std::size_t events = columns_->kinds.size();
    if (events == 0)
        return 1;
    if (unit == AxisUnit::events)
        return static_cast<Position>(events) * kPositionsPerEvent;
    const Nanoseconds last = time(static_cast<EventIndex>(events - 1));
    return std::max<Position>(1, std::min(last, std::numeric_limits<Position>::max() - 1) + 1);
}

void History::series(AxisUnit unit, Position begin, Position end,
                     std::span<SeriesColumn> columns) const {
    // A window of fewer events fits into the processor's cache, and a second thread doesn't pay.
    constexpr std::size_t kFar = std::size_t{1} << 20U;
    if (columns.empty())
        return;
    const std::size_t events = columns_->kinds.size();
    const ColumnGrid grid{unit, begin, std::max(begin, end), columns.size()};
    const std::size_t half =
        event_from(unit, grid.edge(columns.size())) - event_from(unit, begin) < kFar
            ? 0
            : columns.size() / 2;
    const auto read = [&](std::size_t first, std::size_t beyond) {
        read_columns(*columns_, events, grid, first, columns.subspan(first, beyond - first));
        return true;
    };
    if (half == 0)
        read(0, columns.size());
    else
        parallel_for(2, 2, [&](std::size_t part, unsigned) {
            return part == 0 ? read(0, half) : read(half, columns.size());
        });
}

}  // namespace tidemark
