// summarize: a small trace, counted by hand.
#include "replay/analysis/trace/trace_summary.h"

#include <catch2/catch.hpp>

#include "tests/support/vector_trace.h"

namespace tidemark {
namespace {

using support::TraceBuilder;
using support::VectorTrace;

TraceSummary must_summarize(const Trace& trace) {
    Result<TraceSummary> summary = summarize(trace);
    REQUIRE(summary);
    return std::move(*summary);
}

std::uint64_t count_of(const TraceSummary& summary, EventKind kind) {
    for (const KindCount& entry : summary.kinds) {
        if (entry.kind == kind)
            return entry.count;
    }
    return 0;
}

TEST_CASE("a summary counts events by kind and by stream", "[summary]") {
    TraceInfo info;
    info.streams = {0, 0x7000};
    const VectorTrace trace = TraceBuilder()
                                  .segment(EventKind::segment_alloc, 0x1000, 2_MiB)
                                  .allocate(0, 100, 0x1000, 0)
                                  .allocate(1, 200, 0x1200, 1)
                                  .end(EventKind::record_use, 1, 0)
                                  .free(0)
                                  .build(info);
    const TraceSummary summary = must_summarize(trace);

    CHECK(summary.events == 5);
    CHECK(summary.kinds.size() == 4);
    CHECK(count_of(summary, EventKind::allocate) == 2);
    CHECK(count_of(summary, EventKind::segment_alloc) == 1);
    REQUIRE(summary.streams.size() == 2);
    CHECK(summary.streams[0].events == 3);
    CHECK(summary.streams[0].allocations == 1);
    CHECK(summary.streams[0].allocated == 100);
    CHECK(summary.streams[1].handle == 0x7000);
    CHECK(summary.streams[1].allocated == 200);
}

TEST_CASE("a summary finds the peaks and where they were first reached", "[summary]") {
    const VectorTrace trace = TraceBuilder()
                                  .segment(EventKind::segment_alloc, 0x1000, 2_MiB)
                                  .allocate(0, 100)
                                  .allocate(1, 200)           // event 2: 300 bytes, 2 live
                                  .end(EventKind::retire, 0)  // still held
                                  .allocate(2, 50)            // event 4: 350 bytes, 3 live
                                  .end(EventKind::finish, 0)
                                  .segment(EventKind::segment_map, 0x9000, 4_MiB)  // event 6
                                  .segment(EventKind::segment_unmap, 0x9000, 4_MiB)
                                  .allocate(0, 100)  // the same again: not the first
                                  .build();
    const TraceSummary summary = must_summarize(trace);

    CHECK(summary.requested.value == 350);
    CHECK(summary.requested.event == 4);
    CHECK(summary.requested.time == 4);
    CHECK(summary.live.value == 3);
    CHECK(summary.has_recorded_reserved);
    CHECK(summary.recorded_reserved.value == 6_MiB);
    CHECK(summary.recorded_reserved.event == 8);  // the request that it was taken for
    CHECK(summary.allocations == 4);
    CHECK(summary.allocated == 450);
    CHECK(summary.never_freed == 3);
    CHECK(summary.never_freed_bytes == 350);
}

TEST_CASE("sizes and lifetimes fall into bins of powers of two", "[summary]") {
    const VectorTrace trace = TraceBuilder()
                                  .allocate(0, 0)
                                  .allocate(1, 1)
                                  .allocate(2, 512)
                                  .allocate(3, 1023)
                                  .free(3)                    // lived 1 event and 1 ns
                                  .end(EventKind::retire, 0)  // lived 5
                                  .end(EventKind::finish, 0)  // not a second time
                                  .free(1)                    // lived 6
                                  .build();
    const TraceSummary summary = must_summarize(trace);

    REQUIRE(summary.sizes.size() == 11);  // 0, 1, 2, 4, ... 512
    CHECK(summary.sizes[0].low == 0);
    CHECK(summary.sizes[0].count == 1);
    CHECK(summary.sizes[1].low == 1);
    CHECK(summary.sizes[1].count == 1);
    CHECK(summary.sizes[2].count == 0);
    CHECK(summary.sizes[10].low == 512);
    CHECK(summary.sizes[10].count == 2);
    CHECK(summary.sizes[10].bytes == 1535);
    REQUIRE(summary.lifetime_events.size() == 3);  // 1, 2-3, 4-7
    CHECK(summary.lifetime_events[0].low == 1);
    CHECK(summary.lifetime_events[0].count == 1);
    CHECK(summary.lifetime_events[0].bytes == 1023);
    CHECK(summary.lifetime_events[2].low == 4);
    CHECK(summary.lifetime_events[2].count == 2);
    CHECK(summary.lifetime_times.size() == 3);
}

TEST_CASE("launches and what they use are counted, and what isn't known of them", "[summary]") {
    const auto use = [](std::uint32_t slot, std::uint32_t launch, std::uint8_t flags) {
        return TraceEvent{.slot = slot, .aux = launch, .kind = EventKind::use, .flags = flags};
    };
    const VectorTrace trace = TraceBuilder()
                                  .allocate(0, 10)
                                  .allocate(1, 10)
                                  .add(use(0, 1, kReads))
                                  .add(use(1, 1, kReads | kWrites | kPerhaps))
                                  .add(use(kNoSlot, 2, 0))  // nothing that is known
                                  .add(use(kNoSlot, 3, kPerhaps))
                                  .add(use(0, 4, kWrites))
                                  .build();
    const TraceSummary summary = must_summarize(trace);

    CHECK(summary.uses.launches == 4);
    CHECK(summary.uses.unknown_launches == 1);
    CHECK(summary.uses.uses == 3);
    CHECK(summary.uses.possible == 1);
    CHECK(summary.unmatched == 0);
}

TEST_CASE("oddities are counted and harm nothing", "[summary]") {
    const VectorTrace trace = TraceBuilder()
                                  .free(3)  // never lived
                                  .allocate(3, 10)
                                  .allocate(3, 20)  // the slot is live: the older one ends
                                  .add({.kind = EventKind::use, .flags = kReads})
                                  .segment(EventKind::segment_free, 0x1000, 1_GiB)  // never taken
                                  .add({.size = kLargestRequest, .slot = 0})
                                  .add({.size = 1_GiB, .slot = 1, .flags = kTierHost})
                                  .add({.size = 7, .kind = EventKind::out_of_memory})
                                  .build();
    const TraceSummary summary = must_summarize(trace);

    CHECK(summary.unmatched == 2);
    CHECK(summary.requested.value == 20);
    CHECK(summary.never_freed == 3);
    CHECK(summary.out_of_memory == 1);
    CHECK(summary.recorded_reserved.value == 0);
}

TEST_CASE("what lived before the trace is counted", "[summary]") {
    const VectorTrace trace =
        TraceBuilder().add({.size = 10, .slot = 0, .flags = kPreamble}).allocate(1, 10).build();
    CHECK(must_summarize(trace).preamble_live == 1);
}

TEST_CASE("each device has peaks of its own", "[summary]") {
    TraceInfo info;
    info.devices.resize(2);
    const VectorTrace trace = TraceBuilder()
                                  .add({.size = 10, .slot = 0, .device = 0})
                                  .add({.size = 30, .slot = 1, .device = 1})
                                  .free(0)
                                  .add({.size = 5, .slot = 0, .device = 0})
                                  .build(info);
    const TraceSummary summary = must_summarize(trace);
    REQUIRE(summary.devices.size() == 2);
    CHECK(summary.devices[0].requested.value == 10);
    CHECK(summary.devices[1].requested.value == 30);
    CHECK(summary.devices[0].allocations == 2);
    CHECK(summary.requested.value == 40);
}

TEST_CASE("ranges are listed by how often they begin", "[summary]") {
    TraceInfo info;
    std::vector<std::uint32_t> names;
    for (std::uint32_t i = 0; i < 20; ++i)
        names.push_back(info.strings.intern("range " + std::to_string(i)));
    TraceBuilder builder;
    for (std::uint32_t i = 0; i < 20; ++i) {
        for (std::uint32_t repeat = 0; repeat <= (i == 7 ? 9 : i == 3 ? 5 : 0); ++repeat)
            builder.add({.aux = names[i], .kind = EventKind::range_begin});
    }
    const TraceSummary summary = must_summarize(builder.build(info));
    CHECK(summary.range_names == 20);
    REQUIRE(summary.ranges.size() == kRangesShown);
    CHECK(summary.ranges[0].name == "range 7");
    CHECK(summary.ranges[0].count == 10);
    CHECK(summary.ranges[1].name == "range 3");
    CHECK(summary.ranges[2].name == "range 0");  // a tie: the one that came first
}

TEST_CASE("an empty trace has an empty summary", "[summary]") {
    const TraceSummary summary = must_summarize(VectorTrace({}));
    CHECK(summary.events == 0);
    CHECK(summary.kinds.empty());
    CHECK(summary.sizes.empty());
    CHECK(summary.requested.value == 0);
}

}  // namespace
}  // namespace tidemark
