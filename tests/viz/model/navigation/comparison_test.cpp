// Comparison against its plain meaning: event by event, column by column.
#include "viz/model/navigation/comparison.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "viz/model/navigation/compared_runs.h"
#include "viz/model/navigation/largest_difference.h"
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

TEST_CASE("the largest difference is that of all events, and the first of equals", "[comparison]") {
    const Cancelled never{false};
    CHECK(counterexample(effort(60), [&never](std::uint64_t seed, bool timed) {
              const auto one = random_history(seed, 150);
              const auto other = random_history(seed + 1, 120);
              const AxisUnit unit = timed ? AxisUnit::time : AxisUnit::events;
              const Position end = std::min(one->end(unit), other->end(unit));
              const auto value = [&](const History& history, Position at) {
                  const EventIndex next = history.event_from(unit, at + 1);
                  return next == 0 ? Bytes{0} : history.values(next - 1)[Series::reserved];
              };
              std::int64_t most = 0;
              Position where = 0;
              for (const auto& history : {one, other})
                  for (EventIndex event = 0; event < history->counts().events; ++event) {
                      const Position at = history->position(unit, event);
                      if (at >= end)
                          break;
                      const auto bytes = static_cast<std::int64_t>(value(*one, at)) -
                                         static_cast<std::int64_t>(value(*other, at));
                      const bool is_first = std::abs(bytes) == std::abs(most) && at < where;
                      if (std::abs(bytes) > std::abs(most) || (bytes != 0 && is_first)) {
                          most = bytes;
                          where = at;
                      }
                  }
              const auto found = largest_difference(*one, *other, Series::reserved, unit, never);
              RC_ASSERT(found.has_value() == (most != 0));
              RC_ASSERT(!found || *found == (LargestDifference{where, most}));
          }) == "");
    const auto one = run_of(1, 50, 50, false);
    CHECK_FALSE(largest_difference(*one, *one, Series::reserved, AxisUnit::events, never));
    const auto other = run_of(1, 50, 3, false);
    const Cancelled at_once{true};
    CHECK_FALSE(largest_difference(*one, *other, Series::reserved, AxisUnit::events, at_once));
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
    CHECK(figures[0].cells[1].change == "1.00 MiB less (-100.0 %)");
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

// A run whose reserved memory peaks at so many segments of a MiB.
ViewedRun peaking_at(std::string name, std::uint64_t segments) {
    SmallHistory small;
    for (std::uint64_t i = 0; i < segments; ++i)
        small.segment(0x100000000 + i * 1_MiB, 1_MiB);
    small.allocate(1, 512, {.address = 0x100000000});
    return viewed(std::move(name), small.build());
}

TEST_CASE("A and B come first, then the best run, whatever was picked", "[comparison]") {
    Session session;
    for (const auto& [name, segments] :
         {std::pair("torch", 6U), std::pair("buddy", 8U), std::pair("vpmm", 4U),
          std::pair("bump", 9U), std::pair("extent", 3U)})
        session.runs.push_back(peaking_at(name, segments));
    Selection selection;
    using Order = std::vector<std::size_t>;
    CHECK(comparison_order(session, selection) == Order{0, 4, 1, 2, 3});
    selection.run = 3;  // the shown one is compared with the first
    CHECK(comparison_order(session, selection) == Order{0, 3, 4, 1, 2});
    selection.compared_first = 1;
    selection.compared_second = 0;
    CHECK(comparison_order(session, selection) == Order{1, 0, 4, 2, 3});
    selection.compared_second = 77;  // is none
    CHECK(comparison_order(session, selection).front() == 1);
    CHECK(best_run(session, {0, 1, 2}) == 2);
    session.runs.resize(1);
    CHECK(comparison_order(session, {}) == Order{0});
}

TEST_CASE("a verdict says who peaks lower by how much, and who lowest", "[comparison]") {
    Session session;
    session.runs.push_back(peaking_at("torch", 8));
    session.runs.push_back(peaking_at("vpmm", 6));
    CHECK(comparison_verdict(session, {0, 1}) ==
          "vpmm peaks 2.00 MiB lower than torch (-25.0 %): 6.00 MiB reserved against 8.00 MiB.");
    CHECK(comparison_verdict(session, {1, 0}).starts_with("torch peaks 2.00 MiB higher than vpmm"));
    session.runs.push_back(peaking_at("extent", 7));
    CHECK(comparison_verdict(session, {1, 2, 0}) ==
          "extent peaks 1.00 MiB higher than vpmm (+16.7 %): 7.00 MiB reserved against 6.00 MiB; "
          "vpmm is the lowest of 3.");
    CHECK(comparison_verdict(session, {0, 2, 1}).ends_with("; the lowest of 3 is vpmm."));
}

}  // namespace tidemark::viz
