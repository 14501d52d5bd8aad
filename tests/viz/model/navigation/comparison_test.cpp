// Comparison against its plain meaning: event by event, column by column.
#include "viz/model/navigation/comparison.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "viz/model/timeline/timeline_columns.h"

namespace tidemark::viz {
namespace {

using namespace support;

// The largest and the last value within [begin, end), from the values after each event.
std::pair<Bytes, Bytes> plain_column(const History& history, AxisUnit unit, Position begin,
                                     Position end, Series series) {
    Bytes held = 0;
    Bytes most = 0;
    bool entered = false;
    for (EventIndex event = 0; event < history.counts().events; ++event) {
        const Position at = history.position(unit, event);
        if (at >= end)
            break;
        if (at >= begin && !entered) {
            entered = true;
            most = held;
        }
        held = history.values(event)[series];
        most = entered ? std::max(most, held) : held;
    }
    return {entered ? most : held, held};
}

// Blocks of the same sizes and times; from the `differs`-th on with another segment.
std::shared_ptr<const History> run_of(std::uint64_t seed, std::size_t events, std::size_t differs,
                                      bool rounds) {
    SmallHistory small;
    for (std::size_t i = 0; i < events; ++i) {
        if (i == differs)
            small.segment(0x100000000, 1U << 20U);
        else
            small.idle();
        if (rounds)
            small.allocate(i, 512 + seed % 7, {.granted = 1024});
        else
            small.allocate(i, 512 + seed % 7);
    }
    return small.build();
}

ViewedRun viewed(std::string name, std::shared_ptr<const History> history) {
    ViewedRun run;
    run.label = name;
    run.trace_name = std::move(name);
    run.history = std::move(history);
    return run;
}

}  // namespace

TEST_CASE("differences are those of the values, column by column", "[comparison]") {
    CHECK(counterexample(effort(60), [](std::uint64_t seed, std::uint8_t width, bool timed) {
              const auto one = random_history(seed, 120);
              const auto other = random_history(seed + 1, 90);
              const AxisUnit unit = timed ? AxisUnit::time : AxisUnit::events;
              const Position end = std::max(one->end(unit), other->end(unit));
              const Window window{end / 7, std::max(end, end / 7 + 1)};
              std::vector<DifferenceColumn> columns(width % 40U + 1U);
              const std::size_t count = columns.size();
              for (const Series series : {Series::reserved, Series::allocated}) {
                  differences(*one, *other, series, unit, window, columns);
                  for (std::size_t i = 0; i < count; ++i) {
                      const Position from = column_edge(window.begin, window.end, i, count);
                      const Position to = column_edge(window.begin, window.end, i + 1, count);
                      const auto a = plain_column(*one, unit, from, to, series);
                      const auto b = plain_column(*other, unit, from, to, series);
                      const DifferenceColumn& column = columns[i];
                      RC_ASSERT(column.most == static_cast<std::int64_t>(a.first) -
                                                   static_cast<std::int64_t>(b.first));
                      RC_ASSERT(column.last == static_cast<std::int64_t>(a.second) -
                                                   static_cast<std::int64_t>(b.second));
                  }
              }
              RC_ASSERT(columns.front().both ==
                        (window.begin < std::min(one->end(unit), other->end(unit))));
          }) == "");
}

TEST_CASE("runs part at the first event whose values differ", "[comparison]") {
    const Cancelled never{false};
    CHECK(counterexample(effort(60), [&never](std::uint64_t seed) {
              const std::size_t events = 20 + seed % 1500;
              const std::size_t differs = seed / 3 % events;
              const auto one = run_of(seed, events, events, false);
              const auto other = run_of(seed, events, differs, seed % 2 == 0);
              std::optional<EventIndex> any;
              std::optional<EventIndex> reserved;
              for (EventIndex event = 0; event < one->counts().events && !reserved; ++event) {
                  const SeriesValues a = one->values(event);
                  const SeriesValues b = other->values(event);
                  if (!any && a != b)
                      any = event;
                  if (a[Series::reserved] != b[Series::reserved])
                      reserved = event;
              }
              const Divergence found = find_divergence(*one, *other, never);
              RC_ASSERT(found.complete);
              RC_ASSERT(found.any == any);
              RC_ASSERT(found.reserved == reserved);
              RC_ASSERT(reserved.has_value());
          }) == "");
    const auto one = run_of(1, 50, 50, false);
    const Divergence same = find_divergence(*one, *one, never);
    CHECK_FALSE(same.any);
    CHECK_FALSE(same.reserved);
    CHECK(same.compared == one->counts().events);
    const Cancelled at_once{true};
    CHECK_FALSE(find_divergence(*one, *one, at_once).complete);
}

TEST_CASE("runs of one trace are compared by events, others by time", "[comparison]") {
    const auto history = run_of(1, 5, 2, false);
    ViewedRun one = viewed("a.tmk", history);
    ViewedRun other = viewed("a.tmk", history);
    CHECK(alignment(one, other) == Alignment::events);
    CHECK(alignment(one, viewed("b.tmk", history)) == Alignment::time);
    other.run = std::make_unique<Run>();
    one.run = std::make_unique<Run>();
    one.run->trace_hash = 7;
    CHECK(alignment(one, other) == Alignment::time);
    other.run->trace_hash = 7;
    CHECK(alignment(one, other) == Alignment::events);
    one.live.emplace();
    CHECK(alignment(one, other) == Alignment::time);
}

TEST_CASE("figures say in words who did better", "[comparison]") {
    const ViewedRun small = viewed("small", run_of(1, 10, 99, false));
    const ViewedRun large = viewed("large", run_of(1, 10, 3, true));
    const std::vector<const ViewedRun*> runs{&large, &small};
    const std::vector<ComparedFigure> figures = compare_figures(runs);
    REQUIRE_FALSE(figures.empty());
    CHECK(figures[0].name == "peak reserved");
    REQUIRE(figures[0].cells.size() == 2);
    CHECK(figures[0].cells[0].change.empty());
    CHECK(figures[0].cells[1].change == "100.0 % less, better");
    CHECK(figures[0].cells[1].judgement == Judgement::better);
    CHECK(figures[0].cells[1].best);
    CHECK_FALSE(figures[0].cells[0].best);
    const auto events =
        std::ranges::find_if(figures, [](const auto& each) { return each.name == "events"; });
    REQUIRE(events != figures.end());
    CHECK(events->cells[1].judgement == Judgement::same);
    CHECK_FALSE(events->cells[1].best);
    CHECK(compare_figures({}).empty());
}

}  // namespace tidemark::viz
