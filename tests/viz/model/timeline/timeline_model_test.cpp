// What the timeline draws: columns and their layers against the events one by one, joined ranges
// that lose none, marks, named stretches, what streams do.
#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/annotation_tracks.h"
#include "viz/model/timeline/execution_tracks.h"
#include "viz/model/timeline/launch_tracks.h"
#include "viz/model/timeline/mark_positions.h"
#include "viz/model/timeline/stream_density.h"
#include "viz/model/timeline/timeline_columns.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::SmallHistory;

namespace {

constexpr std::size_t kAll = ~std::size_t{0} >> 1U;

struct Stretch {
    Position begin = 0;
    Position end = 0;
};

// One after another, some of them moments.
std::vector<Stretch> random_stretches() {
    std::vector<Stretch> stretches;
    Position at = *rc::gen::inRange<Position>(-50, 50);
    const int count = *rc::gen::inRange(0, 60);
    for (int i = 0; i < count; ++i) {
        at += *rc::gen::element<Position>(0, 0, 1, 3, 40);
        const Position length = *rc::gen::element<Position>(0, 1, 2, 5, 30);
        stretches.push_back({at, at + length});
        at += length;
    }
    return stretches;
}

// The values that hold within [begin, end) by looking at every event.
SeriesColumn column_by_events(const History& history, AxisUnit unit, Position begin, Position end) {
    SeriesColumn column;
    const std::size_t events = history.counts().events;
    EventIndex event = 0;
    SeriesValues value;
    while (event < events && history.position(unit, event) < begin)
        value = history.values(event++);
    column.min = column.max = value;
    column.first_event = event;
    for (; event < events && history.position(unit, event) < end; ++event, ++column.events) {
        value = history.values(event);
        for (std::size_t series = 0; series < kSeriesCount; ++series) {
            column.min.value[series] = std::min(column.min.value[series], value.value[series]);
            column.max.value[series] = std::max(column.max.value[series], value.value[series]);
        }
    }
    column.last = value;
    return column;
}

}  // namespace

TEST_CASE("columns hold what the events within them make of them", "[viz][timeline]") {
    CHECK(support::counterexample(support::effort(40), [] {
              const auto history =
                  support::random_history(*rc::gen::arbitrary<std::uint64_t>(), 300);
              const AxisUnit unit = *rc::gen::element(AxisUnit::time, AxisUnit::events);
              const Position all = history->end(unit);
              const Position begin = *rc::gen::inRange<Position>(0, all);
              const Window window{begin, *rc::gen::inRange<Position>(begin + 1, all + 2)};
              const auto count = *rc::gen::inRange<std::size_t>(1, 40);
              TimelineColumns columns;
              const auto seen = columns.look(history, unit, window, count);
              RC_ASSERT(seen.size() == count);
              for (std::size_t i = 0; i < count; ++i) {
                  const auto plain = column_by_events(
                      *history, unit, column_edge(window.begin, window.end, i, count),
                      column_edge(window.begin, window.end, i + 1, count));
                  RC_ASSERT(seen[i].min == plain.min);
                  RC_ASSERT(seen[i].max == plain.max);
                  RC_ASSERT(seen[i].last == plain.last);
                  RC_ASSERT(seen[i].events == plain.events);
              }
          }).empty());
}

TEST_CASE("a history is asked once for each place of the camera", "[viz][timeline]") {
    SmallHistory made;
    made.segment(0x1000, 0x10000).allocate(1, 512);
    const auto history = made.look();
    TimelineColumns columns;
    columns.look(history, AxisUnit::time, {0, 100}, 10);
    columns.look(history, AxisUnit::time, {0, 100}, 10);
    CHECK(columns.requests() == 1);
    columns.look(history, AxisUnit::time, {0, 101}, 10);
    columns.look(history, AxisUnit::events, {0, 101}, 10);
    columns.look(history, AxisUnit::events, {0, 101}, 11);
    CHECK(columns.requests() == 4);
    columns.look(history, AxisUnit::events, {0, 101'000}, 11);
    made.allocate(2, 512);
    made.look();  // the same window, but more within
    const auto grown = columns.look(history, AxisUnit::events, {0, 101'000}, 11);
    CHECK(columns.requests() == 6);
    CHECK(grown.back().last[Series::requested] == 1024);
}

TEST_CASE("layers stand on each other, and the highest is what was reserved", "[viz][timeline]") {
    SeriesColumn column;
    column.min = {{100, 40, 45, 35}};  // reserved, allocated, active, requested
    column.max = {{120, 80, 90, 80}};
    column.events = 9;
    CHECK(layers_of(column) == ColumnLayers{30, 40, 80, 90, 90, 100, 120});
    CHECK(layers_of(column, 97) == ColumnLayers{30, 40, 80, 90, 97, 100, 120});
    CHECK(layers_of(column, 110).fragmentation == 100);  // never above what is reserved

    column.events = kSharpEvents;  // a step stays a step
    CHECK(layers_of(column) == ColumnLayers{70, 80, 80, 90, 90, 100, 120});

    column.max[Series::reserved] = column.min[Series::reserved] = 0;  // nobody told
    CHECK(layers_of(column).reserved == 90);

    // What waits counts as requested, and is no less than nothing lost to rounding.
    CHECK(rounding_of({{100, 20, 20, 20}}) == 0);
    CHECK(rounding_of({{100, 90, 90, 85}}) == 5);
    CHECK_FALSE(rounding_of({{100, 20, 90, 85}}));  // some waits
    CHECK(rounding_of({{0, 20, 0, 30}}) == 0);
    CHECK(highest(std::span(&column, 1), Series::active) == 90);
    CHECK(highest({}, Series::active) == 0);
}

TEST_CASE("what stands at the cursor is what the history says", "[viz][timeline]") {
    const auto history = support::random_history(7, 400);
    ViewedRun run;
    run.history = history;
    for (EventIndex event = 0; event + 1 < history->counts().events; ++event) {
        const Position here = history->position(AxisUnit::events, event);
        for (const Position at : {here, here + kPositionsPerEvent - 1}) {
            const auto instant = instant_of(run, AxisUnit::events, at);
            REQUIRE(instant);
            CHECK(instant->event == event);
        }
    }
}

TEST_CASE("column edges divide a window without gaps, however long it is", "[viz][timeline]") {
    CHECK(column_edge(10, 20, 0, 3) == 10);
    CHECK(column_edge(10, 20, 1, 3) == 13);
    CHECK(column_edge(10, 20, 3, 3) == 20);
    const Position far = Position{1} << 62;
    CHECK(column_edge(-far, far - 1, 2000, 2000) == far - 1);
    CHECK(column_edge(-far, far, 1000, 2000) == 0);
}

TEST_CASE("joined ranges lose none, hide no long one, and don't change while one pans",
          "[viz][ranges]") {
    CHECK(support::counterexample(support::effort(300), [] {
              const std::vector<Stretch> stretches = random_stretches();
              const Position shortest = *rc::gen::element<Position>(1, 4, 10, 64);
              const auto merge = [&](const Window& window) {
                  return merge_ranges(
                      stretches.size(), [&](std::size_t i) { return stretches[i].begin; },
                      [&](std::size_t i) { return stretches[i].end; }, window, shortest);
              };
              const std::vector<MergedRange> merged = merge({-1000, 100'000});
              std::size_t next = 0;
              for (const MergedRange& range : merged) {
                  RC_ASSERT(range.first == next);
                  RC_ASSERT(range.count > 0U);
                  next += range.count;
                  RC_ASSERT(range.begin == stretches[range.first].begin);
                  RC_ASSERT(range.end == stretches[next - 1].end);
                  // Whoever is joined lies within one cell.
                  if (range.count > 1) {
                      RC_ASSERT(cell_of(range.begin, shortest) + shortest > range.end);
                      for (std::size_t i = range.first; i < next; ++i)
                          RC_ASSERT(stretches[i].end - stretches[i].begin < shortest);
                  }
              }
              RC_ASSERT(next == stretches.size());
              // A window shows the same, cut off.
              const Position begin = *rc::gen::inRange<Position>(-50, 400);
              const Window window{begin, begin + *rc::gen::inRange<Position>(1, 200)};
              const std::vector<MergedRange> seen = merge(window);
              for (const MergedRange& range : seen)
                  RC_ASSERT(std::find(merged.begin(), merged.end(), range) != merged.end());
              for (const MergedRange& range : merged) {
                  const bool within = range.end >= window.begin && range.begin < window.end;
                  RC_ASSERT((std::find(seen.begin(), seen.end(), range) != seen.end()) == within);
              }
          }).empty());
}

TEST_CASE("named stretches lie in the tracks of their depth and none is lost", "[viz][ranges]") {
    SmallHistory made;
    made.begin("step").begin("forward").idle().end("forward").begin("backward").idle();
    made.end("backward").end("step").begin("step").idle().end("step").begin("open");
    const auto history = made.build();
    AnnotationTracks tracks;
    CHECK(tracks.follow(history, 2));  // a part at a time
    CHECK_FALSE(tracks.follow(history, kAll));

    REQUIRE(tracks.tracks() == 2);
    const Window all{0, history->end(AxisUnit::events)};
    const auto steps = tracks.ranges(0, AxisUnit::events, all, 1);
    REQUIRE(steps.size() == 3);
    const auto name = [&](std::size_t track, std::size_t i) {
        return history->strings()[history->annotation(tracks.at(track, i)).name];
    };
    CHECK(name(0, 0) == "step");
    CHECK(name(0, 2) == "open");
    CHECK(steps[2].end == history->end(AxisUnit::events));
    CHECK(name(1, 1) == "backward");
    const auto joined = tracks.ranges(1, AxisUnit::events, all, 1'000'000);
    REQUIRE(joined.size() == 1);
    CHECK(joined[0].count == 2);
}

TEST_CASE("launches lie in the tracks of their streams and none is lost", "[viz][ranges]") {
    SmallHistory made;
    made.allocate(1, 512);
    for (std::uint32_t launch = 0; launch < 9; ++launch)
        made.use(1, {launch, launch % 3 == 0 ? 5U : 2U, launch == 8 ? "last" : "axpy"});
    const auto history = made.build();
    LaunchTracks tracks;
    CHECK(tracks.follow(history, 2));  // a part at a time
    CHECK_FALSE(tracks.follow(history, kAll));

    REQUIRE(tracks.tracks() == 2);
    CHECK(tracks.stream(0) == 5);
    CHECK(tracks.stream(1) == 2);
    const Window all{0, history->end(AxisUnit::events)};
    const auto ranges = tracks.ranges(1, AxisUnit::events, all, 1);
    REQUIRE(ranges.size() == 6);
    CHECK(ranges[0].begin == history->position(AxisUnit::events, 2));
    CHECK(ranges[0].end == history->position(AxisUnit::events, 3));
    CHECK(ranges[5].end == history->end(AxisUnit::events));
    CHECK(history->strings()[history->launch(tracks.at(1, 5)).tag] == "last");
    for (std::size_t track = 0; track < 2; ++track) {
        const auto joined = tracks.ranges(track, AxisUnit::events, all, 1'000'000);
        REQUIRE(joined.size() == 1);
        CHECK(joined[0].count == (track == 0 ? 3 : 6));
    }
}

TEST_CASE("executions lie where the device ran them, in order, whenever they became known",
          "[viz][ranges]") {
    SmallHistory made;
    made.allocate(1, 512);
    for (std::uint32_t launch = 0; launch < 4; ++launch)
        made.use(1, {launch, 5U, "axpy"});
    // The last two overlap; that of number 99 has no launch.
    made.execution({1, 5, "axpy"}, 30, 10).execution({0, 5, "axpy"}, 10, 15);
    made.execution({99, 2, "other"}, 5, 1);
    made.execution({3, 5, "axpy"}, 60, 5).execution({2, 5, "axpy"}, 50, 30);
    const auto history = made.build();
    REQUIRE(history->counts().executions == 5);
    ExecutionTracks tracks;
    CHECK(tracks.follow(history, 1));  // a part at a time
    CHECK(tracks.follow(history, 1));
    CHECK_FALSE(tracks.follow(history, kAll));
    REQUIRE(tracks.tracks() == 2);
    CHECK(tracks.stream(0) == 5);
    CHECK(tracks.stream(1) == 2);
    const auto ranges = tracks.ranges(0, AxisUnit::time, {0, 100}, 1);
    REQUIRE(ranges.size() == 4);
    for (std::size_t i = 0; i < ranges.size(); ++i)
        CHECK(history->execution(tracks.at(0, i)).launch == i);
    CHECK(ranges[0].begin == 10);
    CHECK(ranges[0].end == 25);
    CHECK(ranges[2].begin == 50);
    CHECK(ranges[2].end == 60);  // where the next one begins
    CHECK(ranges[3].end == 65);
    CHECK(history->execution(tracks.at(0, 2)).length == 30);
    CHECK(history->execution(tracks.at(1, 0)).launch == Execution::kNoLaunch);
    CHECK(tracks.ranges(0, AxisUnit::time, {0, 100}, 1'000'000).size() == 1);
    const auto by_event =
        tracks.ranges(0, AxisUnit::events, {0, history->end(AxisUnit::events)}, 1);
    REQUIRE(by_event.size() == 4);
    CHECK(by_event[0].begin == history->position(AxisUnit::events, history->first_at(10)));
    CHECK(by_event[3].begin == history->position(AxisUnit::events, history->first_at(60)));
}

TEST_CASE("marks are counted by kind, and those behind the last event stand at the end",
          "[viz][ranges]") {
    SmallHistory made;
    made.segment(0x1000, 0x10000).allocate(1, 512).mark(MarkKind::retry);
    made.mark(MarkKind::out_of_memory, 4096).mark(MarkKind::retry).free(1);
    const auto history = made.build();
    MarkPositions marks;
    CHECK_FALSE(marks.follow(history, kAll));
    CHECK(marks.count(MarkKind::retry) == 2);
    CHECK(marks.count(MarkKind::out_of_memory) == 1);
    CHECK(marks.count(MarkKind::trim) == 0);
    const Window all{0, history->end(AxisUnit::time) + 1};
    CHECK(marks.ranges(MarkKind::retry, AxisUnit::time, all, 1).size() == 2);
    const auto joined = marks.ranges(MarkKind::retry, AxisUnit::time, all, 1'000'000'000);
    REQUIRE(joined.size() == 1);
    CHECK(joined[0].count == 2);
    const auto refused = marks.ranges(MarkKind::out_of_memory, AxisUnit::time, all, 1);
    REQUIRE(refused.size() == 1);
    CHECK(history->mark(marks.at(MarkKind::out_of_memory, refused[0].first)).size == 4096);
}

TEST_CASE("streams' counts by buckets are those of their events", "[viz][streams]") {
    const auto history = support::random_history(11, 3000);
    const std::size_t events = history->counts().events;
    const Cancelled go_on{false};
    const auto density = StreamDensity::build(*history, events, go_on);
    REQUIRE(density);
    REQUIRE(density->streams() >= 1);
    std::vector<StreamCounts> exact(density->streams());
    std::vector<StreamCounts> summed(density->streams());
    double allocations = 0;
    // At the ends of buckets exact; within one they lie between.
    for (EventIndex first = 0; first < events; first += 64 * 5) {
        const auto last = static_cast<EventIndex>(std::min<std::size_t>(first + 64 * 7, events));
        StreamDensity::count(*history, first, last, exact);
        density->between(*history, first, last, summed);
        CHECK(exact == summed);
    }
    StreamDensity::count(*history, 0, static_cast<EventIndex>(events), exact);
    double waiting = 0;
    for (const StreamCounts& counts : exact) {
        allocations += counts.allocations;
        waiting += counts.waiting;
        CHECK(counts.waiting <= counts.frees);
    }
    CHECK(allocations == Approx(static_cast<double>(history->counts().blocks)));
    CHECK(waiting > 0);
    const Cancelled stop{true};
    CHECK(StreamDensity::build(*history, events, stop) == nullptr);
}

TEST_CASE("what a run has grown by is counted too, and costs only that", "[viz][streams]") {
    const auto history = support::random_history(12, 5000);
    const auto events = static_cast<EventIndex>(history->counts().events);
    const Cancelled go_on{false};
    std::vector<StreamCounts> exact;
    std::vector<StreamCounts> summed;
    std::shared_ptr<const StreamDensity> density;
    for (const EventIndex known : {EventIndex{1}, EventIndex{640}, EventIndex{1999}, events / 2}) {
        density = StreamDensity::build(*history, known, go_on, density.get());
        REQUIRE(density);
        exact.assign(density->streams(), {});
        summed.assign(density->streams(), {});
        // The latest events are those that nobody has counted yet.
        for (const EventIndex first : {EventIndex{0}, known / 64 * 64, known, events - 100}) {
            StreamDensity::count(*history, first, events, exact);
            density->between(*history, first, events, summed);
            CHECK(exact == summed);
        }
    }
}

TEST_CASE("of frees those wait whose bytes come free later", "[viz][streams]") {
    SmallHistory made;
    made.segment(0x1000, 0x10000).allocate(1, 512, {.stream = 1}).allocate(2, 512);
    made.free(2).retire(1).idle().finish(1);
    const auto history = made.build();
    std::vector<StreamCounts> counts(2);
    const auto events = static_cast<EventIndex>(history->counts().events);
    StreamDensity::count(*history, 0, events, counts);
    CHECK(counts[0] == StreamCounts{1, 1, 0});
    CHECK(counts[1] == StreamCounts{1, 1, 1});
}
