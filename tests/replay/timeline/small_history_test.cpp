// What a history says of ranges, segments, marks and blocks that wait, written down by hand.
#include "tests/support/small_history.h"

#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/timeline/tree_order.h"
#include "traces/model/trace.h"

namespace tidemark {
namespace {

using support::SmallHistory;

constexpr Bytes kPage = 0x1000;

TEST_CASE("Nodes of a tree lie where they are appended") {
    std::vector<std::pair<std::size_t, std::size_t>> appended;
    std::vector<std::size_t> next(8, 0);
    for (std::size_t leaf = 0; leaf < 5000; ++leaf) {
        for (std::size_t level = 0; level == 0 || next[level - 1] % TreeOrder::kFanOut == 0;
             ++level)
            appended.emplace_back(level, next[level]++);
        REQUIRE(TreeOrder::count(leaf + 1) == appended.size());
    }
    for (std::size_t i = 0; i < appended.size(); ++i)
        REQUIRE(TreeOrder::position(appended[i].first, appended[i].second) == i);
}

TEST_CASE("An empty history answers as well") {
    const auto history = SmallHistory().build();
    CHECK(history->counts() == HistoryCounts{});
    CHECK(history->end(AxisUnit::time) == 1);
    CHECK(history->first_at(5) == 0);
    CHECK(history->peak_event(Series::reserved) == 0);
    std::vector<SeriesColumn> columns(3);
    history->series(AxisUnit::time, 0, 100, columns);
    CHECK(columns[2].max == SeriesValues{});
    CHECK(history->devices().size() == 1);
}

TEST_CASE("Pages that are mapped one after the other at once are one segment") {
    SmallHistory small;
    HistoryBuilder& builder = small.builder();
    small.reserve(0x100000, 16 * kPage);
    REQUIRE(builder.make_room(1));
    builder.add({.time = 50, .kind = EventKind::synchronize});
    for (std::uint64_t page = 0; page < 4; ++page)
        builder.change_segment(0, SegmentChange::map, {Address{0x100000 + page * kPage}, kPage},
                               StreamId{}, 1);
    const auto history = small.look();
    REQUIRE(history->counts().segments == 2);
    CHECK(history->segment(0).kind == SegmentKind::reservation);
    CHECK(history->segment(1).kind == SegmentKind::mapping);
    CHECK(history->segment(1).size == 4 * kPage);
    small.unmap(0x100000 + kPage, kPage);
    static_cast<void>(small.look());
    REQUIRE(history->counts().segments == 4);
    CHECK(history->segment(1).died == 2);
    CHECK(history->segment(2).begin == Address{0x100000});
    CHECK(history->segment(2).size == kPage);
    CHECK(history->segment(2).born == 2);
    CHECK(history->segment(3).begin == Address{0x100000 + 2 * kPage});
    CHECK(history->segment(3).size == 2 * kPage);
    small.unmap(0x100000, 16 * kPage);
    static_cast<void>(small.look());
    CHECK(history->segment(2).died == 3);
    CHECK(history->segment(3).died == 3);
    CHECK(history->segment(0).died == kNever);
}

TEST_CASE("The curves leave out the host's memory, however its blocks end") {
    HistoryNames names;
    names.devices = {"H200", std::string(kHostMemory)};
    SmallHistory small;
    small.names(names);
    small.allocate(1, 4096).allocate(2, 512, {.device = 1}).allocate(3, 1024, {.device = 1});
    small.allocate(4, 2048, {.device = 1}).retire(2).finish(2).free(3);
    small.builder().reuse(small.block(4));
    const auto history = small.free(1).idle().build();
    for (EventIndex event = 0; event < history->counts().events; ++event) {
        const Bytes expected = event < 7 ? 4096 : 0;
        for (const Series series : {Series::allocated, Series::active, Series::requested})
            REQUIRE(history->values(event)[series] == expected);
    }
}

TEST_CASE("Segments of different devices may have the same addresses") {
    const auto history = SmallHistory()
                             .segment(kPage, kPage, 0)
                             .segment(kPage, kPage, 1)
                             .end_segment(kPage, 0, 1)
                             .build();
    REQUIRE(history->counts().segments == 2);
    CHECK(history->segment(0).died == kNever);
    CHECK(history->segment(1).died == 2);
    CHECK(history->segment(1).device == 1);
}

TEST_CASE("A launch knows its blocks, also where another thread's lies between its uses") {
    SmallHistory small;
    small.allocate(1, 1000, {.granted = 1024}).allocate(2, 2048).allocate(3, 512);
    small.use(3, {7, 0, "axpy"}).use(1, {8, 1, "copy"}).use(1, {7, 0, "axpy", true});
    small.use(2, {8, 1, "copy", true}).use(3, {7, 0, "axpy", true});
    const auto history = small.look();
    REQUIRE(history->counts().launches == 2);
    CHECK(history->launch(0).begin == 3);
    CHECK(history->launch(0).end == kNever);
    CHECK(history->strings()[history->launch(0).tag] == "axpy");
    const LaunchUses axpy = history->uses(0);
    CHECK(axpy.blocks == std::vector<BlockIndex>{0, 2});  // the third once, and surely
    CHECK(axpy.size == 1536);
    CHECK(axpy.possible == 1);
    CHECK_FALSE(axpy.unknown);
    CHECK(history->launch(1).stream == 1);
    CHECK(history->uses(1).blocks == std::vector<BlockIndex>{0, 1});
    CHECK(history->uses(1).possible == 1);

    small.use_unknown({9, 0, "graph"}).use(1, {8, 1, "copy"});
    small.builder().end_launch(StreamId{1});
    small.free(1).use(2, {8, 1, "copy"});
    static_cast<void>(small.build());
    REQUIRE(history->counts().launches == 4);
    CHECK(history->launch(0).end == 8);
    CHECK(history->uses(0).blocks == axpy.blocks);
    CHECK(history->uses(1).possible == 1);
    CHECK(history->launch(1).end == 10);
    CHECK(history->uses(2).unknown);
    CHECK(history->uses(2).blocks.empty());
    CHECK(history->launch(2).end == kNever);
    CHECK(history->launch(3).begin == 11);  // the same number again, after its stream's free
    CHECK(history->uses(3).blocks == std::vector<BlockIndex>{1});
}

TEST_CASE("Ranges nest, and end by their names") {
    const auto history = SmallHistory()
                             .begin("step")
                             .begin("forward")
                             .end("forward")
                             .begin("backward")
                             .end("step")
                             .end("never begun")
                             .build();
    REQUIRE(history->counts().annotations == 3);
    CHECK(history->annotation(0).end == 4);
    CHECK(history->annotation(0).depth == 0);
    CHECK(history->annotation(1).end == 2);
    CHECK(history->annotation(1).depth == 1);
    CHECK(history->annotation(2).depth == 1);
    CHECK(history->annotation(2).end == kNever);
    CHECK(history->strings()[history->annotation(2).name] == "backward");
}

TEST_CASE("Marks keep their event, size and name") {
    const auto history = SmallHistory()
                             .mark(MarkKind::out_of_memory, 7)
                             .mark(MarkKind::point, 0, "here")
                             .mark(MarkKind::trim)
                             .build();
    REQUIRE(history->counts().marks == 3);
    CHECK(history->mark(0).kind == MarkKind::out_of_memory);
    CHECK(history->mark(0).size == 7);
    CHECK(history->mark(1).event == 1);
    CHECK(history->strings()[history->mark(1).name] == "here");
    CHECK(history->mark(2).kind == MarkKind::trim);
}

TEST_CASE("What ends twice or never began changes nothing") {
    SmallHistory small;
    small.allocate(1, 100).free(1).free(1).finish(1).retire(1);
    REQUIRE(small.builder().make_room(2));
    small.builder().add({.time = 60, .kind = EventKind::free, .block = 77});
    small.builder().add({.time = 60, .kind = EventKind::free});
    const auto history = small.build();
    CHECK(history->block(0).freed == 1);
    CHECK(history->block_at(2) == kNoBlock);
    CHECK(history->block_at(5) == kNoBlock);
    CHECK(history->values(6) == SeriesValues{});
}

TEST_CASE("Times never run backwards, and far ones are exact") {
    constexpr Nanoseconds kFar = std::numeric_limits<Nanoseconds>::max() - 5;
    const auto history = SmallHistory().at(100).idle().at(50).idle().at(kFar).idle().build();
    CHECK(history->time(0) == 100);
    CHECK(history->time(1) == 100);
    CHECK(history->time(2) == kFar);
    CHECK(history->first_at(101) == 2);
    CHECK(history->end(AxisUnit::time) == kFar + 1);
    std::vector<SeriesColumn> columns(2);
    history->series(AxisUnit::time, -kFar, kFar + 1, columns);
    CHECK(columns[0].events == 0);
    CHECK(columns[1].events == 3);
}

TEST_CASE("Giant blocks and slacks are exact") {
    const auto history = SmallHistory()
                             .allocate(1, 1, {.address = 64, .granted = Bytes{1} << 59U})
                             .allocate(2, 5, {.address = 32, .granted = 8})
                             .free(1)
                             .build();
    CHECK(history->block(0).size == Bytes{1} << 59U);
    CHECK(history->values(0)[Series::allocated] == Bytes{1} << 59U);
    CHECK(history->values(2)[Series::allocated] == 8);
    CHECK(history->find(0, Address{(Bytes{1} << 59U) + 63}, 1) == 0);
    CHECK(history->find(0, Address{(Bytes{1} << 59U) + 64}, 1) == kNoBlock);
    CHECK(history->find(0, Address{40}, 1) == kNoBlock);
}

}  // namespace
}  // namespace tidemark
