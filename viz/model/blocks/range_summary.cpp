// Two walks: over the events of a stretch, and over the blocks allocated in it.
#include "viz/model/blocks/range_summary.h"

#include <algorithm>
#include <vector>

#include "replay/timeline/owner_series.h"
#include "viz/model/blocks/site_index.h"

namespace tidemark::viz {
namespace {

constexpr EventIndex kEventsAtOnce = 4096;

// Minimum, maximum, and the sum of values times how long each lasted.
class CurveSums {
  public:
    CurveSums(const SeriesValues& entry, Position begin)
        : values_(entry), min_(entry), max_(entry), begin_(begin), since_(begin) {}

    // From `position` on these are the values.
    void change(Position position, const SeriesValues& values) {
        hold_until(position);
        values_ = values;
        for (std::size_t i = 0; i < kSeriesCount; ++i) {
            min_.value[i] = std::min(min_.value[i], values.value[i]);
            max_.value[i] = std::max(max_.value[i], values.value[i]);
        }
    }

    SeriesRange range(std::size_t series, Position end) {
        hold_until(end);
        const auto length = static_cast<double>(end - begin_);
        const double mean =
            length > 0 ? sums_[series] / length : static_cast<double>(values_.value[series]);
        return {min_.value[series], max_.value[series], static_cast<Bytes>(mean)};
    }

  private:
    void hold_until(Position position) {
        const auto length = static_cast<double>(std::max<Position>(position - since_, 0));
        for (std::size_t i = 0; i < kSeriesCount; ++i)
            sums_[i] += length * static_cast<double>(values_.value[i]);
        since_ = std::max(since_, position);
    }

    SeriesValues values_;
    SeriesValues min_;
    SeriesValues max_;
    std::array<double, kSeriesCount> sums_{};
    Position begin_;
    Position since_;
};

void sum_curves(const History& history, EventIndex first, EventIndex end, RangeSummary& summary,
                const Cancelled& cancelled) {
    const AxisUnit unit = summary.question.unit;
    const Window& window = summary.question.window;
    CurveSums sums(first > 0 ? history.values(first - 1) : SeriesValues{}, window.begin);
    std::vector<SeriesColumn> columns;
    for (EventIndex from = first; from < end && !cancelled; from += kEventsAtOnce) {
        const EventIndex count = std::min(kEventsAtOnce, end - from);
        columns.resize(count);  // an event each
        history.series(AxisUnit::events, history.position(AxisUnit::events, from),
                       history.position(AxisUnit::events, from + count), columns);
        for (EventIndex i = 0; i < count; ++i)
            sums.change(history.position(unit, from + i), columns[i].last);
    }
    const Position until = std::max(std::min(window.end, end_of_run(history, unit)), window.begin);
    for (std::size_t series = 0; series < kSeriesCount; ++series)
        summary.series[series] = sums.range(series, until);
}

void count_blocks(const History& history, EventIndex first, EventIndex end, RangeSummary& summary,
                  const Cancelled& cancelled) {
    const BlockFilter filter(history, summary.question.filter, cancelled);
    const std::optional<std::uint16_t> host = host_device(history);
    HistogramBins sizes;
    HistogramBins lifetimes;
    const BlockIndex last = history.born_before(end);
    for (BlockIndex index = history.born_before(first); index < last && !cancelled; ++index) {
        const Block block = history.block(index);
        if (history.site(block.site).device == host || !filter.lets_through(block))
            continue;
        ++summary.blocks;
        summary.bytes += block.size;
        sizes.add(block.size, block.size);
        if (block.freed == kNever) {
            ++summary.unfreed_blocks;
            summary.unfreed_bytes += block.size;
        } else if (summary.has_times) {
            const Nanoseconds life = history.time(block.freed) - history.time(block.born);
            lifetimes.add(static_cast<std::uint64_t>(life), block.size);
        } else {
            lifetimes.add(block.freed - block.born, block.size);
        }
    }
    summary.sizes = sizes.take();
    summary.lifetimes = lifetimes.take();
}

}  // namespace

RangeSummary range_summary(const History& history, const RangeQuestion& question,
                           const Cancelled& cancelled) {
    RangeSummary summary;
    summary.question = question;
    summary.has_times = history.end(AxisUnit::time) > 1;
    const EventSpan& span = question.span;
    const EventIndex end = std::max(span.begin(), span.end());
    summary.events = end - span.begin();
    sum_curves(history, span.begin(), end, summary, cancelled);
    count_blocks(history, span.begin(), end, summary, cancelled);
    return summary;
}

}  // namespace tidemark::viz
