// The buckets and their values. Each series is three rows of numbers: how far the last value moved,
// and how far the bucket went above and below what its two ends say: mostly nothing.
#include "replay/report/page/html_curves.h"

#include <algorithm>
#include <span>

#include "replay/report/page/html_bytes.h"

namespace tidemark::report {
namespace {

constexpr Bytes kMostUnits = Bytes{1} << 32;  // values of the page fit into 32 bits

// A power of two, so large that nothing exceeds kMostUnits of it.
Bytes unit_of(const History& history) {
    Bytes most = 0;
    for (std::size_t i = 0; i < kSeriesCount; ++i) {
        const auto series = static_cast<Series>(i);
        if (history.counts().events > 0)
            most = std::max(most, history.values(history.peak_event(series))[series]);
    }
    Bytes unit = 1;
    while (most / unit >= kMostUnits)
        unit *= 2;
    return unit;
}

std::vector<SeriesColumn> columns_of(const History& history,
                                     const std::vector<EventIndex>& begins) {
    std::vector<SeriesColumn> columns(begins.size());
    const auto begin_of = [&](std::size_t bucket) {
        return bucket < begins.size() ? history.position(AxisUnit::events, begins[bucket])
                                      : history.end(AxisUnit::events);
    };
    for (std::size_t i = 0; i < begins.size(); ++i)
        history.series(AxisUnit::events, begin_of(i), begin_of(i + 1),
                       std::span(columns).subspan(i, 1));
    return columns;
}

// The three rows of one series.
void put_series(std::string& bytes, const std::vector<SeriesColumn>& columns, Series series,
                Bytes unit) {
    std::string above;
    std::string below;
    std::int64_t before = 0;
    for (const SeriesColumn& column : columns) {
        const auto last = static_cast<std::int64_t>(column.last[series] / unit);
        const auto max = static_cast<std::int64_t>(column.max[series] / unit);
        const auto min = static_cast<std::int64_t>(column.min[series] / unit);
        put_difference(bytes, last - before);
        put_difference(above, max - std::max(last, before));
        put_difference(below, std::min(last, before) - min);
        before = last;
    }
    bytes += above + below;
}

}  // namespace

std::vector<EventIndex> bucket_begins(const History& history, std::size_t most) {
    const auto count = static_cast<EventIndex>(history.counts().events);
    std::vector<EventIndex> begins;
    if (count == 0)
        return begins;
    // A pause makes two cuts, and there are no more than `share` long ones.
    const auto share = static_cast<EventIndex>(most / 4);
    const EventIndex step = count <= most ? 1 : count / share + 1;
    const Nanoseconds first = history.time(0);
    const Nanoseconds pause = (history.time(count - 1) - first) / static_cast<Nanoseconds>(share);
    Nanoseconds before = first;
    for (EventIndex event = 0; event < count; ++event) {
        const Nanoseconds time = history.time(event);
        const bool after_pause = step > 1 && event > 0 && time - before > pause;
        if (after_pause && begins.back() != event - 1)
            begins.push_back(event - 1);  // alone: its value is what held through the pause
        if (event % step == 0 || after_pause)
            begins.push_back(event);
        before = time;
    }
    return begins;
}

Json buckets_json(const History& history, const std::vector<EventIndex>& begins) {
    std::string events;
    std::string times;
    EventIndex event_before = 0;
    Nanoseconds time_before = 0;
    for (const EventIndex event : begins) {
        put_difference(events, std::int64_t{event} - event_before);
        put_difference(times, history.time(event) - time_before);
        event_before = event;
        time_before = history.time(event);
    }
    return {{"buckets", begins.size()},
            {"events", history.counts().events},
            {"end_time", history.end(AxisUnit::time)},
            {"places", packed(events + times)}};
}

Json curves_json(const History& history, const std::vector<EventIndex>& begins) {
    const Bytes unit = unit_of(history);
    const std::vector<SeriesColumn> columns = columns_of(history, begins);
    std::string bytes;
    Json names = Json::array();
    for (std::size_t i = 0; i < kSeriesCount; ++i) {
        const auto series = static_cast<Series>(i);
        names.push_back(to_text(series));
        put_series(bytes, columns, series, unit);
    }
    return {{"unit", unit}, {"names", std::move(names)}, {"values", packed(bytes)}};
}

}  // namespace tidemark::report
