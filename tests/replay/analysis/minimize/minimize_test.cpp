// Delta debugging: what it leaves out, what it keeps, and that the order of threads is no matter.
#include "replay/analysis/minimize/minimize.h"

#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::events_of;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

// Shown by traces in which so much lives at once.
ShownBy lives_at_once(Bytes wanted) {
    return [wanted](const Trace& candidate) -> Result<bool> {
        std::map<std::uint32_t, Bytes> live;
        Bytes now = 0;
        Bytes most = 0;
        for (const TraceEvent& event : events_of(candidate)) {
            if (event.kind == EventKind::allocate)
                now += live[event.slot] = event.size;
            else if (event.kind == EventKind::free)
                now -= std::exchange(live[event.slot], 0);
            most = std::max(most, now);
        }
        return most >= wanted;
    };
}

MinimizedTrace minimized(const Trace& trace, const ShownBy& shown, MinimizeOptions options = {}) {
    Result<MinimizedTrace> small = minimize_trace(trace, shown, options);
    INFO((small ? "" : to_text(small.error())));
    REQUIRE(small.has_value());
    return std::move(*small);
}

// Many short lives, and in between three that together are the peak.
VectorTrace with_a_peak(std::uint32_t noise) {
    TraceBuilder builder;
    builder.segment(EventKind::segment_alloc, 4096, 1_GiB);
    for (std::uint32_t i = 0; i < noise; ++i) {
        if (i % (noise / 3) == 1)
            builder.allocate(10 + i / (noise / 3), 100, 4096);
        builder.add({.aux = 0, .kind = EventKind::range_begin});
        builder.allocate(i % 7, 1 + i % 5, 4096);
        builder.end(EventKind::use, i % 7);
        builder.free(i % 7);
        builder.add({.aux = 0, .kind = EventKind::range_end});
    }
    for (std::uint32_t slot = 10; slot < 13; ++slot)
        builder.free(slot);
    return builder.build();
}

}  // namespace

TEST_CASE("what has no part in it is left out, with its free, uses and ranges", "[minimize]") {
    const VectorTrace trace = with_a_peak(600);
    const MinimizedTrace small = minimized(trace, lives_at_once(300));
    CHECK(small.before.allocations == 603);
    CHECK(small.after.allocations == 3);
    CHECK(small.complete);
    REQUIRE(small.events.size() == 3);
    for (const TraceEvent& event : small.events) {
        CHECK(event.kind == EventKind::allocate);
        CHECK(event.size == 100);
        CHECK(event.address == 0);
        CHECK(event.slot < 3);
    }
    CHECK(small.info.slot_count == 3);
    CHECK(small.info.event_count == 3);
    CHECK(small.info.duration == small.events.back().time);
    CHECK(small.replays < 300);
}

TEST_CASE("the smallest trace is the same for every number of threads", "[minimize]") {
    const VectorTrace trace = with_a_peak(90);
    for (const Bytes wanted : std::vector<Bytes>{50, 104, 201, 303}) {
        const MinimizedTrace one = minimized(trace, lives_at_once(wanted), {.threads = 1});
        for (const unsigned threads : {2U, 3U, 8U}) {
            const MinimizedTrace more =
                minimized(trace, lives_at_once(wanted), {.threads = threads});
            CHECK(more.events == one.events);
            CHECK(more.replays == one.replays);
        }
    }
}

TEST_CASE("none of what is left can be left out alone, and each free has its allocation",
          "[minimize]") {
    const VectorTrace trace = with_a_peak(60);
    const ShownBy shown = [](const Trace& candidate) -> Result<bool> {
        // Something is freed after a wide allocation, while a narrow one lives.
        std::map<std::uint32_t, Bytes> live;
        for (const TraceEvent& event : events_of(candidate)) {
            if (event.kind == EventKind::allocate)
                live[event.slot] = event.size;
            if (event.kind != EventKind::free)
                continue;
            if (!live.contains(event.slot))
                return fail(ErrorCode::bad_input, "a free without its allocation");
            const Bytes freed = live[event.slot];
            live.erase(event.slot);
            if (freed == 3 && std::ranges::any_of(live, [](auto& each) { return each.second > 9; }))
                return true;
        }
        return false;
    };
    const MinimizedTrace small = minimized(trace, shown);
    CHECK(small.after.allocations == 2);
    CHECK(small.after.events == 3);
    const MinimizedTrace again = minimized(VectorTrace(small.events, small.info), shown);
    CHECK(again.events == small.events);
}

TEST_CASE("uses stay where it takes them", "[minimize]") {
    const VectorTrace trace = with_a_peak(12);
    const ShownBy shown = [](const Trace& candidate) -> Result<bool> {
        const auto events = events_of(candidate);
        return std::ranges::count(events, EventKind::use, &TraceEvent::kind) >= 2;
    };
    const MinimizedTrace small = minimized(trace, shown);
    CHECK(small.after.allocations == 2);
    CHECK(std::ranges::count(small.events, EventKind::use, &TraceEvent::kind) == 2);
}

TEST_CASE("what lived before the trace is allocated in it, and emptied caches are just that",
          "[minimize]") {
    TraceInfo info;
    info.preamble_count = 2;
    info.begins_inside = true;
    const VectorTrace trace(
        {{.size = 512, .address = 64, .kind = EventKind::block, .flags = kPreamble},
         {.size = 500, .address = 64, .slot = 0, .flags = kPreamble},
         {.aux = 3, .kind = EventKind::trim, .flags = kEndsPool},
         {.kind = EventKind::trim, .flags = kTrimsNothing}},
        info);
    const MinimizedTrace small = minimized(trace, [](const Trace& candidate) -> Result<bool> {
        return events_of(candidate).size() == 2;
    });
    CHECK(small.info.preamble_count == 0);
    CHECK_FALSE(small.info.begins_inside);
    REQUIRE(small.events.size() == 2);
    CHECK(small.events[0].flags == 0);
    CHECK(small.events[1] == TraceEvent{.kind = EventKind::trim});
}

TEST_CASE("a search that is stopped has the best so far, which shows it", "[minimize]") {
    const VectorTrace trace = with_a_peak(300);
    int left = 20;
    std::uint64_t last = 0;
    const MinimizedTrace small = minimized(trace, lives_at_once(300),
                                           {.threads = 1,
                                            .stop = [&left] { return --left < 0; },
                                            .progress =
                                                [&](auto done, auto all) {
                                                    CHECK(done >= last);
                                                    CHECK(done <= all);
                                                    last = done;
                                                }});
    CHECK_FALSE(small.complete);
    CHECK(small.after.events < small.before.events);
    CHECK(*lives_at_once(300)(VectorTrace(small.events, small.info)));
}

TEST_CASE("what the trace doesn't show can't be looked for, and errors get out", "[minimize]") {
    const VectorTrace trace = with_a_peak(30);
    const Result<MinimizedTrace> never = minimize_trace(trace, lives_at_once(1_GiB));
    REQUIRE_FALSE(never.has_value());
    CHECK(never.error().code == ErrorCode::unsupported);
    int calls = 0;
    const Result<MinimizedTrace> broken =
        minimize_trace(trace,
                       [&calls](const Trace&) -> Result<bool> {
                           if (++calls == 9)
                               return fail(ErrorCode::cancelled, "enough");
                           return true;
                       },
                       {.threads = 1});
    REQUIRE_FALSE(broken.has_value());
    CHECK(broken.error().code == ErrorCode::cancelled);
}

TEST_CASE("an empty trace is as small as it can be", "[minimize]") {
    const MinimizedTrace small =
        minimized(VectorTrace({}), [](const Trace&) -> Result<bool> { return true; });
    CHECK(small.events.empty());
    CHECK(small.complete);
}
