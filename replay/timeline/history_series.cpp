// history_series: the curves. A column of a picture is a few nodes of the series tree, and at its
// edges the events of two leaves.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

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

// Ranges of events, one after the other; the last leaf that was decoded is kept for the next.
class SeriesReader {
  public:
    SeriesReader(const History::Columns& columns, std::size_t events)
        : columns_(columns), events_(events) {}

    SeriesValues after(std::size_t event) { return leaf(event / kLeaf)[event % kLeaf]; }

    // Of the events [begin, end), with what held before them.
    SeriesColumn column(std::size_t begin, std::size_t end) {
        SeriesColumn column;
        column.first_event = static_cast<EventIndex>(begin);
        column.events = static_cast<EventIndex>(end - begin);
        if (begin > 0)
            column.last = after(begin - 1);
        column.min = column.last;
        column.max = column.last;
        if (begin == end)
            return column;
        const std::size_t first_whole = (begin + kLeaf - 1) / kLeaf;
        const std::size_t end_whole = end / kLeaf;
        if (first_whole >= end_whole) {
            const std::size_t border = std::min(first_whole * kLeaf, end);
            part(column, begin, border);
            part(column, border, end);
        } else {
            part(column, begin, first_whole * kLeaf);
            TreeOrder::cover(first_whole, end_whole, [&](std::size_t level, std::size_t index) {
                const SeriesNode& node = columns_.series[TreeOrder::place(level, index)];
                widen(column.min, column.max, node.min, node.max);
            });
            column.last = columns_.last_values[end_whole - 1];
            part(column, end_whole * kLeaf, end);
        }
        return column;
    }

  private:
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
        if (!decoded_ || *decoded_ != bucket)
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
    std::size_t first_at(Nanoseconds time) {
        const std::size_t leaf = first_leaf(time);
        near_ = leaf;
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
    // The first leaf that begins at `time` or later.
    std::size_t first_leaf(Nanoseconds time) const {
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
        return begin;
    }

    const History::Columns& columns_;
    std::size_t events_;
    std::size_t leaves_;
    std::size_t near_ = 0;
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
            std::size_t level = 0;
            for (std::size_t span = TreeOrder::kFanOut; from % span == 0 && from + span <= leaves;
                 span *= TreeOrder::kFanOut)
                ++level;
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
        return columns_.series[TreeOrder::place(level, index)].max[series_];
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
    const std::size_t events = columns_->kinds.size();
    SeriesReader reader(*columns_, events);
    TimeSearch search(*columns_, events);
    const auto event_at = [&](Position position) {
        return unit == AxisUnit::time ? search.first_at(position)
                                      : event_at_position(position, events);
    };
    const auto count = static_cast<std::uint64_t>(columns.size());
    const std::uint64_t width =
        end > begin ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin) : 0;
    std::size_t from = columns.empty() ? 0 : event_at(begin);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t offset = (i + 1) * (width / count) + (i + 1) * (width % count) / count;
        const auto edge = static_cast<Position>(static_cast<std::uint64_t>(begin) + offset);
        const std::size_t to = event_at(edge);
        columns[i] = reader.column(from, std::max(from, to));
        from = std::max(from, to);
    }
}

}  // namespace tidemark
