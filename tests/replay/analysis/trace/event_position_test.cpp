// find_event_positions: which ranges are open at an event, and its stack in words.
#include "replay/analysis/trace/event_position.h"

#include <catch2/catch.hpp>

#include "tests/support/vector_trace.h"

namespace tidemark {
namespace {

using support::TraceBuilder;
using support::VectorTrace;

struct Names {
    TraceInfo info;
    std::uint32_t step = info.strings.intern("step");
    std::uint32_t forward = info.strings.intern("forward");

    static TraceEvent range(EventKind kind, std::uint32_t name, std::uint16_t device = 0) {
        return {.aux = name, .device = device, .kind = kind};
    }

    TraceEvent begin(std::uint32_t name, std::uint16_t device = 0) const {
        return range(EventKind::range_begin, name, device);
    }

    TraceEvent end(std::uint32_t name) const { return range(EventKind::range_end, name); }
};

EventPositions positions(const Trace& trace, std::vector<std::uint64_t> events) {
    Result<EventPositions> found = find_event_positions(trace, events);
    REQUIRE(found);
    REQUIRE(found->positions.size() == events.size());
    return std::move(*found);
}

TEST_CASE("an event lies in the ranges that are open on its device", "[analysis]") {
    Names names;
    names.info.devices.resize(2);
    const VectorTrace trace = TraceBuilder()
                                  .add(names.begin(names.step))  // 0
                                  .add(names.end(names.step))
                                  .add(names.begin(names.step))     // 2: the second step
                                  .add(names.begin(names.forward))  // 3
                                  .allocate(0, 1_MiB)               // 4
                                  .add({.size = 1, .slot = 1, .device = 1})
                                  .add(names.end(names.step))  // 6: crosses the inner one
                                  .allocate(2, 1_MiB)          // 7
                                  .build(names.info);

    const EventPositions found = positions(trace, {7, 4, 5, 4});

    REQUIRE(found.positions[1].inside.size() == 2);
    CHECK(found.positions[1].inside[0].name == "step");
    CHECK(found.positions[1].inside[0].number == 2);
    CHECK(found.positions[1].inside[1].name == "forward");
    CHECK(found.positions[1].inside[1].number == 1);
    CHECK(found.positions[3].inside.size() == 2);
    CHECK(found.positions[2].inside.empty());  // another device
    CHECK(found.positions[2].after.empty());
    REQUIRE(found.positions[0].inside.size() == 1);
    CHECK(found.positions[0].inside[0].name == "forward");
}

TEST_CASE("an event outside of all ranges comes after the last of them", "[analysis]") {
    Names names;
    const VectorTrace trace = TraceBuilder()
                                  .add(names.begin(names.step))
                                  .add(names.end(names.step))
                                  .allocate(0, 1_MiB)
                                  .build(names.info);

    const EventPositions found = positions(trace, {2});

    CHECK(found.positions[0].inside.empty());
    REQUIRE(found.positions[0].after.size() == 1);
    CHECK(found.positions[0].after[0].name == "step");
    CHECK(found.positions[0].after[0].number == 1);
}

TEST_CASE("an event's stack is given in words, innermost first", "[analysis]") {
    TraceInfo info;
    const std::uint32_t file = info.strings.intern("model.py");
    const std::vector<Frame> frames{{info.strings.intern("forward"), file, 12},
                                    {info.strings.intern("main"), file, 90}};
    const std::uint32_t stack = info.stacks.intern(frames);
    const std::uint32_t tag = info.strings.intern("attention");
    const VectorTrace trace = TraceBuilder()
                                  .add({.size = 1_MiB, .slot = 0, .stack = stack, .tag = tag})
                                  .add({.size = 9_MiB, .kind = EventKind::out_of_memory})
                                  .end(EventKind::retire, 0)
                                  .build(info);

    const EventPositions found = positions(trace, {0});

    CHECK(found.positions[0].stack ==
          std::vector<std::string>{"forward (model.py:12)", "main (model.py:90)"});
    CHECK(found.positions[0].tag == "attention");
    CHECK(found.recorded_refusals == 1);
    CHECK(found.has_retired);
}

TEST_CASE("events beyond the trace have no place", "[analysis]") {
    const EventPositions found = positions(TraceBuilder().allocate(0, 1).build(), {5});

    CHECK(found.positions[0].stack.empty());
    CHECK_FALSE(found.has_retired);
}

}  // namespace
}  // namespace tidemark
