// Locations as text, and back.
#include "viz/model/navigation/view_location.h"

#include <limits>

#include <catch2/catch.hpp>

#include "replay/timeline/fullest_event.h"
#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "viz/model/navigation/navigation.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::SmallHistory;

namespace {

constexpr Position kSecond = 1'000'000'000;

}  // namespace

TEST_CASE("a location that is printed reads back as itself", "[viz][location]") {
    CHECK(support::counterexample(support::effort(100), [] {
              ViewLocation location;
              const auto position = [] {
                  return *rc::gen::inRange<Position>(0, Position{1} << 61U) >>
                         *rc::gen::inRange(0, 50);
              };
              const auto unit = [] { return *rc::gen::element(AxisUnit::time, AxisUnit::events); };
              switch (*rc::gen::inRange(0, 4)) {
                  case 0:
                      location.unit = unit();
                      location.window.emplace();
                      location.window->begin = position();
                      location.window->end = location.window->begin + 1 + position();
                      break;
                  case 1:
                      location.moment = AxisPosition{unit(), position()};
                      break;
                  case 2:
                      location.landmark =
                          static_cast<ViewLocation::Landmark>(*rc::gen::inRange(1, 5));
                      break;
                  default:
                      break;
              }
              if (*rc::gen::arbitrary<bool>())
                  location.cursor = AxisPosition{unit(), position()};
              if (*rc::gen::arbitrary<bool>()) {
                  const AxisUnit axis = unit();
                  const Position begin = position();
                  location.measure = {AxisPosition{axis, begin},
                                      AxisPosition{axis, begin + 1 + position()}};
              }
              if (*rc::gen::arbitrary<bool>())
                  location.owners = *rc::gen::element(BlockTrait::tag, BlockTrait::stack,
                                                      BlockTrait::pool, BlockTrait::size);
              if (*rc::gen::arbitrary<bool>())
                  location.view = "timeline+address-map";
              if (*rc::gen::arbitrary<bool>())
                  location.block = *rc::gen::inRange<BlockIndex>(0, kNoBlock);
              else if (*rc::gen::arbitrary<bool>())
                  location.address = Address{*rc::gen::arbitrary<std::uint64_t>()};
              location.run = *rc::gen::inRange<std::size_t>(0, 9);
              const Result<ViewLocation> back = parse_location(to_text(location));
              RC_ASSERT(back.has_value());
              RC_ASSERT(*back == location);
          }) == "");
}

TEST_CASE("places are read as people write them", "[viz][location]") {
    const Result<ViewLocation> location =
        parse_location(" t=1.2s..1400ms ; cursor=#12;view=timeline;run=1 ");
    REQUIRE(location);
    CHECK(location->window == Window{1'200'000'000, 1'400'000'000});
    CHECK(location->cursor == AxisPosition{AxisUnit::events, 12'000});
    CHECK(location->view == "timeline");
    CHECK(location->run == 1U);
    CHECK(parse_location("t=2m")->moment->position == 120 * kSecond);
    CHECK(parse_location("event=100..200")->window == Window{100'000, 200'000});
    CHECK(parse_target("1.25s")->moment == AxisPosition{AxisUnit::time, 1'250'000'000});
    CHECK(parse_target("#81")->moment == AxisPosition{AxisUnit::events, 81'000});
    CHECK(parse_target("81")->moment == AxisPosition{AxisUnit::events, 81'000});
    CHECK(parse_target("0x7f00")->address == Address{0x7f00});
    CHECK(parse_target("oom")->landmark == ViewLocation::Landmark::out_of_memory);
}

TEST_CASE("what is no location is told with what would be", "[viz][location]") {
    struct Case {
        std::string text;
        std::string answer;
    };

    const std::vector<Case> cases{
        {"", "gives no target"},
        {";;", "gives no target"},
        {"peek", "did you mean peak?"},
        {"t=12", "is not a time"},
        {"t=2s..1s", "ends before it starts"},
        {"t=1s..1s", "ends before it starts"},
        {"t=-1s", "is not a time"},
        {"t=1e9s", "is not a time"},
        {"t=99999999999999999999s", "is not a time"},
        {"t=0.0000000001s", "is not a time"},
        {"event=x", "is not an event"},
        {"peak=1", "takes no value"},
        {"run", "needs a value"},
        {"run=-1", "is not a run's number"},
        {"peak;oom", "gives two targets"},
        {"view=a;view=b", "is given twice"},
        {"block=7f", "is not a block"},
        {"block=#4294967295", "is not a block"},
        {"block=0x10000000000000000", "is not a block"},
        {"measure=1s", "is not a range"},
        {"measure=2s..1s", "ends before it starts"},
        {"measure=#2..1s", "is not an event"},
        {"owners=life", "give one of tag, site, module"},
    };
    for (const Case& each : cases) {
        const Result<ViewLocation> location = parse_location(each.text);
        INFO(each.text);
        REQUIRE_FALSE(location);
        CHECK(location.error().code == ErrorCode::bad_option);
        CHECK(to_text(location.error()).find(each.answer) != std::string::npos);
    }
}

// --- going there ---------------------------------------------------------------------------------

namespace {

// Events 0..5 at 0, 10, .. 50 ns: a segment, then two blocks.
struct OpenedRun {
    Session session;
    Camera camera;
    Selection selection;

    OpenedRun() {
        SmallHistory history;
        history.segment(0x1000, 0x1000)
            .allocate(1, 512, {.address = 0x1000})
            .allocate(2, 1024, {.address = 0x1400})
            .mark(MarkKind::out_of_memory, 4096)
            .free(1)
            .free(2);
        session.runs.emplace_back();
        session.runs[0].history = history.build();
        session.runs[0].state.phase = LoadState::Phase::ready;
        camera.set_extent(AxisUnit::time, extent_of(session, AxisUnit::time));
    }

    Result<void> go(std::string_view location) {
        return go_to(*parse_location(location), session, camera, selection);
    }

    const History& history() const { return *session.runs[0].history; }
};

}  // namespace

TEST_CASE("places lead to moments, landmarks and blocks", "[viz][location]") {
    OpenedRun opened;
    const History& history = opened.history();

    REQUIRE(opened.go("peak"));
    const EventIndex peak = fullest_event(history);
    CHECK(opened.selection.cursor == history.position(AxisUnit::time, peak));
    REQUIRE(opened.go("block=0x1500"));
    CHECK(opened.selection.block == BlockIndex{1});
    REQUIRE(opened.go("block=#0"));
    CHECK(opened.selection.block == BlockIndex{0});
    REQUIRE(opened.go("oom"));
    CHECK(opened.selection.cursor == history.position(AxisUnit::time, history.mark(0).event));

    CHECK_FALSE(opened.go("t=1h"));
    CHECK_FALSE(opened.go("block=#77"));
    CHECK_FALSE(opened.go("start;block=0x9999"));
    CHECK_FALSE(opened.go("peak;run=3"));
}

TEST_CASE("going to a stretch of events changes the axis, and going back as well",
          "[viz][location]") {
    OpenedRun opened;
    opened.selection.cursor = opened.history().position(AxisUnit::time, 2);
    REQUIRE(opened.go("event=1..4"));
    CHECK(opened.camera.unit() == AxisUnit::events);
    CHECK(opened.camera.window() == Window{1000, 4000});
    CHECK(opened.selection.cursor == Position{2000});
    REQUIRE(go_back(opened.session, opened.camera, opened.selection, false));
    CHECK(opened.camera.unit() == AxisUnit::time);
    CHECK(opened.selection.cursor == opened.history().position(AxisUnit::time, 2));
}

TEST_CASE("events are stepped through one by one, to either end", "[viz][navigation]") {
    OpenedRun opened;
    const auto events = static_cast<EventIndex>(opened.history().counts().events);
    opened.selection.cursor = 0;
    for (EventIndex event = 1; event < events; ++event) {
        REQUIRE(step_events(opened.session, opened.camera, opened.selection, 1));
        CHECK(opened.selection.cursor == opened.history().position(AxisUnit::time, event));
    }
    REQUIRE(step_events(opened.session, opened.camera, opened.selection, 1));
    CHECK(opened.selection.cursor == opened.history().position(AxisUnit::time, events - 1));
    REQUIRE(step_events(opened.session, opened.camera, opened.selection, -1000));
    CHECK(opened.selection.cursor == opened.history().position(AxisUnit::time, 0));
}

TEST_CASE("stops are findings and marks of the run, in their order", "[viz][navigation]") {
    OpenedRun opened;
    opened.session.runs[0].findings.push_back({Finding::Weight::note, "look", "", 2, 1});
    opened.selection.cursor = 0;
    std::vector<std::string> met;
    while (const auto stop = next_stop(opened.session, opened.camera, opened.selection, true)) {
        put_cursor(opened.camera, opened.selection, stop->position);
        met.push_back(stop->what);
    }
    CHECK(met == Labels{"look", "out of memory: 4.00 KiB"});
    std::size_t back = 0;
    while (const auto stop = next_stop(opened.session, opened.camera, opened.selection, false)) {
        put_cursor(opened.camera, opened.selection, stop->position);
        ++back;
    }
    CHECK(back == 1);
}

TEST_CASE("changing the axis there and back shows the same", "[viz][navigation]") {
    CHECK(support::counterexample(support::effort(100), [] {
              Session session;
              session.runs.emplace_back();
              session.runs[0].history =
                  support::random_history(*rc::gen::arbitrary<std::uint64_t>(), 200);
              const History& history = *session.runs[0].history;
              Camera camera;
              Selection selection;
              camera.set_extent(AxisUnit::time, extent_of(session, AxisUnit::time));
              const auto event = *rc::gen::inRange<EventIndex>(
                  0, static_cast<EventIndex>(history.counts().events));
              selection.cursor = history.position(AxisUnit::time, event);
              RC_ASSERT(toggle_axis(session, camera, selection));
              // The first of those at the same time.
              RC_ASSERT(selection.cursor ==
                        history.position(AxisUnit::events, history.first_at(history.time(event))));
              const Window all{0, camera.extent()};
              RC_ASSERT(camera.window() == all);
              RC_ASSERT(toggle_axis(session, camera, selection));
              RC_ASSERT(selection.cursor == history.position(AxisUnit::time, event));
          }) == "");
}
