// Differences, divergence and figures.
#include "viz/model/navigation/comparison.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/check.h"
#include "replay/report/forms/wording.h"
#include "replay/report/page/report_facts.h"
#include "viz/model/timeline/timeline_columns.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kAtOnce = 1024;  // events between looks at `cancelled`

std::int64_t difference_of(Bytes one, Bytes other) {
    constexpr auto kMost = static_cast<Bytes>(std::numeric_limits<std::int64_t>::max());
    if (one >= other)
        return static_cast<std::int64_t>(std::min(one - other, kMost));
    return -static_cast<std::int64_t>(std::min(other - one, kMost));
}

// The values after each of the events [begin, begin + columns.size()).
void values_after(const History& history, EventIndex begin, std::span<SeriesColumn> columns) {
    const auto count = static_cast<EventIndex>(columns.size());
    const Position end =
        begin + count < history.counts().events
            ? history.position(AxisUnit::events, begin + count)
            : history.position(AxisUnit::events, begin) + Position{count} * kPositionsPerEvent;
    history.series(AxisUnit::events, history.position(AxisUnit::events, begin), end, columns);
}

// The figures of each run, the same ones in the same order.
std::vector<std::vector<Measurement>> figures_of(std::span<const ViewedRun* const> runs) {
    const bool replayed =
        std::ranges::all_of(runs, [](const ViewedRun* run) { return run->run != nullptr; });
    std::vector<std::vector<Measurement>> all;
    for (const ViewedRun* run : runs) {
        if (!replayed) {
            all.push_back(history_figures(*run->history));
            continue;
        }
        std::vector<Measurement> figures;
        for (const std::string_view name : report::compared_figures())
            figures.push_back(run->run->measurement(name));
        all.push_back(std::move(figures));
    }
    return all;
}

bool is_better(const Measurement& one, const Measurement& other) {
    return one.better == Better::less ? one.value() < other.value() : one.value() > other.value();
}

ComparedFigure figure_of(const std::vector<std::vector<Measurement>>& all, std::size_t index) {
    const Measurement& first = all.front()[index];
    ComparedFigure figure{report::figure_name(first), std::string(first.summary), {}};
    Measurement best = first;
    bool differ = false;
    for (const auto& run : all) {
        differ = differ || run[index].value() != first.value();
        if (is_better(run[index], best))
            best = run[index];
    }
    for (std::size_t run = 0; run < all.size(); ++run) {
        const Measurement& now = all[run][index];
        ComparedCell cell;
        cell.text = figure_text(now);
        if (run > 0) {
            report::Change change = report::change_of(now, first);
            cell.change = std::move(change.text);
            cell.judgement = change.judgement;
        }
        cell.best = differ && now.better != Better::neither && now.value() == best.value();
        figure.cells.push_back(std::move(cell));
    }
    return figure;
}

}  // namespace

Alignment alignment(const ViewedRun& one, const ViewedRun& other) {
    const bool same = one.run && other.run ? one.run->trace_hash == other.run->trace_hash
                                           : one.trace_name == other.trace_name;
    return same && !one.live && !other.live ? Alignment::events : Alignment::time;
}

void subtract(std::span<const SeriesColumn> one, std::span<const SeriesColumn> other, Series series,
              std::span<DifferenceColumn> difference) {
    TM_CHECK(one.size() == other.size() && one.size() == difference.size());
    for (std::size_t i = 0; i < one.size(); ++i)
        difference[i] = {difference_of(one[i].max[series], other[i].max[series]),
                         difference_of(one[i].last[series], other[i].last[series]), true};
}

void differences(const History& one, const History& other, Series series, AxisUnit unit,
                 const Window& window, std::span<DifferenceColumn> difference) {
    std::vector<SeriesColumn> first(difference.size());
    std::vector<SeriesColumn> second(difference.size());
    one.series(unit, window.begin, window.end, first);
    other.series(unit, window.begin, window.end, second);
    subtract(first, second, series, difference);
    const Position end = std::min(one.end(unit), other.end(unit));
    for (std::size_t i = 0; i < difference.size(); ++i)
        difference[i].both = column_edge(window.begin, window.end, i, difference.size()) < end;
}

Divergence find_divergence(const History& one, const History& other, const Cancelled& cancelled) {
    const auto events =
        static_cast<EventIndex>(std::min(one.counts().events, other.counts().events));
    Divergence found;
    std::array<SeriesColumn, kAtOnce> first;
    std::array<SeriesColumn, kAtOnce> second;
    while (found.compared < events && !found.reserved) {
        if (cancelled.load(std::memory_order_relaxed))
            return found;
        const auto count = std::min<std::size_t>(kAtOnce, events - found.compared);
        values_after(one, found.compared, std::span(first).first(count));
        values_after(other, found.compared, std::span(second).first(count));
        for (std::size_t i = 0; i < count && !found.reserved; ++i) {
            const EventIndex event = found.compared + static_cast<EventIndex>(i);
            if (!found.any && first[i].last != second[i].last)
                found.any = event;
            if (first[i].last[Series::reserved] != second[i].last[Series::reserved])
                found.reserved = event;
        }
        found.compared =
            found.reserved ? *found.reserved + 1 : found.compared + static_cast<EventIndex>(count);
    }
    found.complete = true;
    return found;
}

std::vector<Measurement> history_figures(const History& history) {
    const auto peak = [&history](Series series) {
        const bool any = history.counts().events > 0;
        return any ? history.values(history.peak_event(series))[series] : Bytes{0};
    };
    const auto figure = [](std::string_view name, std::string_view summary, Unit unit,
                           Better better, std::uint64_t value) {
        return Measurement{
            .name = name, .summary = summary, .unit = unit, .better = better, .whole = value};
    };
    std::uint64_t refused = 0;
    for (std::size_t i = 0; i < history.counts().marks; ++i)
        refused += history.mark(i).kind == MarkKind::out_of_memory ? 1U : 0U;
    return {
        figure("peak_reserved_bytes", "most memory held from the device", Unit::bytes, Better::less,
               peak(Series::reserved)),
        figure("peak_allocated_bytes", "most memory granted to live allocations", Unit::bytes,
               Better::less, peak(Series::allocated)),
        figure("peak_requested_bytes", "most memory the program requested", Unit::bytes,
               Better::less, peak(Series::requested)),
        figure("out_of_memory", "requests that were out of memory", Unit::count, Better::less,
               refused),
        figure("events", "events of the run", Unit::count, Better::neither,
               history.counts().events),
    };
}

std::vector<ComparedFigure> compare_figures(std::span<const ViewedRun* const> runs) {
    std::vector<ComparedFigure> table;
    if (runs.empty())
        return table;
    const std::vector<std::vector<Measurement>> all = figures_of(runs);
    for (std::size_t i = 0; i < all.front().size(); ++i)
        table.push_back(figure_of(all, i));
    return table;
}

}  // namespace tidemark::viz
