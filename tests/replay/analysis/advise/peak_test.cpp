// The moments of a replay, what lies in memory there, and why it could not be used.
#include "replay/analysis/advise/peak.h"

#include <catch2/catch.hpp>

#include "replay/analysis/advise/gaps.h"
#include "replay/analysis/advise/memory.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

using namespace tidemark;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

TrialSetup torch(const char* policy = "torch") {
    TrialSetup setup;
    setup.policy = parse_policy(policy).value();
    return setup;
}

PeakSnapshot snapshot_of(const Trace& trace, const char* policy = "torch") {
    Result<PeakSnapshot> snapshot = find_peak(trace, torch(policy));
    REQUIRE(snapshot);
    return std::move(*snapshot);
}

// Two segments of 20 MiB in each of which a block of 4 MiB stays, then a request that fits into
// neither: 100 MiB.
TraceBuilder pinned() {
    TraceBuilder builder;
    for (std::uint32_t slot = 0; slot < 10; ++slot)
        builder.allocate(slot, 4_MiB);
    for (std::uint32_t slot = 0; slot < 10; ++slot)
        if (slot != 4 && slot != 9)
            builder.free(slot);
    builder.allocate(20, 100_MiB);  // event 18
    builder.free(4);
    return builder;
}

}  // namespace

TEST_CASE("the peak is found with what lives there", "[advise]") {
    const VectorTrace trace = pinned().build();
    const PeakSnapshot snapshot = snapshot_of(trace);

    CHECK(snapshot.reserved.event == 18);
    CHECK(snapshot.fullest.event == 18);
    CHECK(snapshot.allocated.event == 18);
    CHECK(snapshot.reserved.usage.reserved == 140_MiB);
    CHECK(snapshot.fullest.requested == 108_MiB);
    REQUIRE(snapshot.fullest.live.size() == 3);
    CHECK(snapshot.fullest.live[2].requested == 100_MiB);
    CHECK(snapshot.growth.event == 18);
    REQUIRE(snapshot.growth.live.size() == 2);  // without the request itself
    CHECK(snapshot.growth.live[0].ends == 19);
    CHECK(snapshot.growth.live[1].ends == kNotInTrace);
}

TEST_CASE("of all events at the peak the one with most in use is looked at", "[advise]") {
    TraceBuilder builder;
    builder.allocate(0, 100_MiB).free(0).allocate(1, 4_MiB);  // reserved: 120 MiB
    builder.free(1).allocate(0, 96_MiB).allocate(1, 4_MiB).free(0);
    const VectorTrace trace = builder.build();
    const PeakSnapshot snapshot = snapshot_of(trace);

    CHECK(snapshot.reserved.event == 0);
    CHECK(snapshot.fullest.usage.reserved == snapshot.reserved.usage.reserved);
    CHECK(snapshot.fullest.usage.active >= snapshot.reserved.usage.active);
}

TEST_CASE("a peak at the very last event is seen too", "[advise]") {
    TraceBuilder builder;
    builder.allocate(0, 4_MiB).allocate(1, 40_MiB);
    const VectorTrace trace = builder.build();
    const facts::MemoryParts parts = memory_parts(snapshot_of(trace));

    CHECK(parts.reserved == 60_MiB);
    CHECK(parts.in_use == 44_MiB);
    CHECK(parts.fragmentation == 16_MiB);
}

TEST_CASE("an empty trace has no peak", "[advise]") {
    const VectorTrace trace = TraceBuilder().build();
    const PeakSnapshot snapshot = snapshot_of(trace);
    Sites sites(trace.info());

    CHECK(snapshot.reserved.event == kNotInTrace);
    CHECK(memory_parts(snapshot).reserved == 0);
    CHECK(gaps(snapshot).requested == 0);
    CHECK(pins(snapshot, sites, 5).empty());
    CHECK(holders(snapshot, trace.info(), sites, 5).empty());
}

TEST_CASE("reserved memory falls into its parts", "[advise]") {
    TraceBuilder builder;
    builder.allocate(0, 4_MiB - 1000).allocate(1, 4_MiB);
    builder.allocate(2, 30_MiB).free(2);                 // a whole segment, cached
    builder.end(EventKind::retire, 1).allocate(3, 100);  // block 1 waits; a small segment
    const VectorTrace trace = builder.build();
    const PeakSnapshot snapshot = snapshot_of(trace);
    const facts::MemoryParts parts = memory_parts(snapshot);

    CHECK(snapshot.fullest.event == 5);
    CHECK(parts.reserved == 52_MiB);
    CHECK(parts.in_use == 4_MiB - 1000 + 100);
    CHECK(parts.rounding == 1000 % 512 + 412);
    CHECK(parts.waiting == 4_MiB);
    CHECK(parts.cached == 30_MiB);
    CHECK(parts.fragmentation == 12_MiB + 512 + 2_MiB - 512);
}

TEST_CASE("the parts add up to reserved memory, in segments and in pages", "[advise]") {
    for (const char* name : {"generate:steps:events=4000", "generate:serving:events=4000",
                             "generate:mix:events=4000"}) {
        const auto trace = open_trace(name);
        REQUIRE(trace);
        for (const bool paged : {false, true}) {
            INFO(name << " paged " << paged);
            const PeakSnapshot snapshot =
                snapshot_of(**trace, paged ? "torch:expandable_segments=true" : "torch");
            const facts::MemoryParts parts = memory_parts(snapshot);
            CHECK(parts.reserved > 0);
            CHECK(parts.in_use > 0);
            CHECK(parts.in_use + parts.rounding + parts.waiting + parts.fragmentation +
                      parts.cached ==
                  parts.reserved);
        }
    }
}

TEST_CASE("the gaps say why a request made the allocator grow", "[advise]") {
    const VectorTrace trace = pinned().build();
    const Gaps found = gaps(snapshot_of(trace));

    CHECK(found.requested == 100_MiB);
    CHECK(found.free == 32_MiB);
    CHECK(found.reachable == 32_MiB);
    CHECK(found.count == 2);
    CHECK(found.largest == 16_MiB);
    CHECK(found.whole == 0);
}

TEST_CASE("gaps of other streams and sizes are told apart", "[advise]") {
    TraceBuilder builder;
    builder.allocate(0, 4_MiB, 0, 1).allocate(1, 512);
    builder.allocate(2, 30_MiB).free(2).allocate(3, 40_MiB);
    PeakSnapshot snapshot = snapshot_of(builder.build());
    const Gaps found = gaps(snapshot);

    CHECK(found.requested == 40_MiB);
    CHECK(found.other_streams == 16_MiB);
    CHECK(found.other_sizes == 2_MiB - 512);
    CHECK(found.reachable == 30_MiB);
    CHECK(found.whole == 30_MiB);
    CHECK(found.free == found.reachable + found.other_streams + found.other_sizes);
    for (std::vector<Region>& regions : snapshot.at_growth)
        for (Region& region : regions)
            region.shared = true;  // parts of it are in use elsewhere: nothing is free as a whole
    CHECK(gaps(snapshot).whole == 0);
}

TEST_CASE("what stays longest in a segment is what pins it", "[advise]") {
    const VectorTrace trace = pinned().build();
    Sites sites(trace.info());
    const std::vector<PinningSite> found = pins(snapshot_of(trace), sites, 5);

    REQUIRE(found.size() == 1);
    CHECK(found[0].site == "4.00 MiB to 8.00 MiB");
    CHECK(found[0].segments == 2);
    CHECK(found[0].blocks == 2);
    CHECK(found[0].free == 32_MiB);
    CHECK(found[0].block_bytes == 8_MiB);
    CHECK(found[0].in_use == 8_MiB);
    CHECK(found[0].born == 4);
    CHECK(found[0].ends == kNotInTrace);
}

TEST_CASE("pages that are free as a whole pin nothing", "[advise]") {
    TraceBuilder builder;
    builder.allocate(0, 50_MiB).allocate(1, 8_MiB).free(0).allocate(2, 100_MiB);
    const PeakSnapshot snapshot = snapshot_of(builder.build(), "torch:expandable_segments=true");
    const facts::MemoryParts parts = memory_parts(snapshot);

    CHECK(parts.in_use == 108_MiB);
    CHECK(parts.cached == 40_MiB);  // two pages below the block
    CHECK(parts.fragmentation == parts.reserved - 148_MiB);
}

TEST_CASE("moments know the ranges around them", "[advise]") {
    TraceInfo info;
    const std::uint32_t step = info.strings.intern("step");
    const std::uint32_t forward = info.strings.intern("forward");
    const std::uint32_t note = info.strings.intern("note");
    TraceBuilder builder;
    const auto range = [&](EventKind kind, std::uint32_t name) {
        builder.add({.aux = name, .kind = kind});
    };
    range(EventKind::range_begin, step);
    range(EventKind::range_end, step);
    range(EventKind::mark, note);
    range(EventKind::range_begin, step);
    range(EventKind::range_begin, forward);
    builder.allocate(0, 40_MiB);
    range(EventKind::range_end, forward);
    range(EventKind::range_end, step);
    const VectorTrace trace = builder.build(info);
    const PeakSnapshot snapshot = snapshot_of(trace);

    REQUIRE(snapshot.reserved.inside.size() == 2);
    CHECK(snapshot.reserved.inside[0].name == step);
    CHECK(snapshot.reserved.inside[0].visit == 2);
    CHECK(snapshot.reserved.inside[1].name == forward);
    CHECK(snapshot.reserved.after.name == step);
    CHECK(snapshot.reserved.after.visit == 1);
    CHECK(snapshot.reserved.mark == note);
    CHECK(snapshot.range_visits[step] == 2);
    CHECK(snapshot.fullest.live[0].annotation == forward);
}

TEST_CASE("holders are grouped by place, operator and annotation", "[advise]") {
    TraceInfo info;
    const std::uint32_t file = info.strings.intern("/home/me/train.py");
    const Frame first[] = {{info.strings.intern("build"), file, 3}};
    const Frame second[] = {{info.strings.intern("aten::mm"), info.strings.intern("??"), 0},
                            {info.strings.intern("run"), file, 9}};
    const std::uint32_t build = info.stacks.intern(first);
    const std::uint32_t run = info.stacks.intern(second);
    const std::uint32_t tag = info.strings.intern("weights");
    TraceBuilder builder;
    builder.add({.size = 4_MiB, .slot = 0, .stack = build, .tag = tag});
    builder.add({.size = 8_MiB, .slot = 1, .stack = run});
    builder.add({.size = 2_MiB, .slot = 2, .stack = run});
    const VectorTrace trace = builder.build(info);
    Sites sites(trace.info());
    const std::vector<Holder> found = holders(snapshot_of(trace), trace.info(), sites, 5);

    REQUIRE(found.size() == 6);
    CHECK(found[0].kind == HolderKind::site);
    CHECK(found[0].name == "me/train.py:9 run");
    CHECK(found[0].at_reserved_peak == 10_MiB);
    CHECK(found[0].blocks == 2);
    CHECK(found[0].stack == run);
    CHECK(found[0].largest == 8_MiB);
    CHECK(found[1].name == "me/train.py:3 build");
    CHECK(found[2].kind == HolderKind::operation);
    CHECK(found[2].name == "aten::mm");
    CHECK(found[3].name.empty());
    CHECK(found[4].kind == HolderKind::annotation);
    CHECK(found[4].name.empty());
    CHECK(found[5].name == "weights");
}
