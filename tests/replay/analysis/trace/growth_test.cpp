// Growth between two traces, and requests that are asked again.
#include "replay/analysis/trace/growth.h"

#include <catch2/catch.hpp>

#include "replay/scenario/trial.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

// Blocks put down to places of a program: (line, bytes); those of line 0 are let go at the end.
VectorTrace program(std::initializer_list<std::pair<std::uint32_t, Bytes>> blocks) {
    TraceInfo info;
    const std::uint32_t file = info.strings.intern("/home/me/train.py");
    const std::uint32_t name = info.strings.intern("run");
    TraceBuilder builder;
    std::uint32_t slot = 0;
    for (const auto& [line, bytes] : blocks) {
        const Frame frame{name, file, line};
        builder.add({.size = bytes, .slot = slot++, .stack = info.stacks.intern({&frame, 1})});
    }
    slot = 0;
    for (const auto& [line, bytes] : blocks) {
        if (line == 0)
            builder.free(slot);
        ++slot;
    }
    return builder.build(info);
}

const GrowthEntry& entry(const Growth& growth, const std::string& name) {
    for (const GrowthEntry& each : growth.entries)
        if (each.name == name)
            return each;
    FAIL("no entry " << name);
    return growth.entries.front();
}

}  // namespace

TEST_CASE("what grew is told by place, the largest first", "[advise]") {
    const VectorTrace before = program({{1, 4_MiB}, {2, 8_MiB}, {3, 1_MiB}, {0, 2_MiB}});
    const VectorTrace after = program({{1, 4_MiB}, {2, 8_MiB}, {2, 8_MiB}, {4, 3_MiB}, {0, 2_MiB}});
    const Growth growth = find_growth(before, after, 10).value();

    CHECK(growth.by_site);
    CHECK(growth.before.end.bytes == 13_MiB);
    CHECK(growth.before.peak.bytes == 15_MiB);
    CHECK(growth.after.end.bytes == 23_MiB);
    CHECK(growth.after.end.blocks == 4);
    CHECK(growth.after.peak.bytes == 25_MiB);
    CHECK(growth.before.peak_reserved >= 15_MiB);

    REQUIRE(growth.entries.size() == 3);
    CHECK(growth.more == 0);
    CHECK(growth.entries[0].name == "me/train.py:2 run");
    CHECK(growth.entries[0].change == Change::changed);
    CHECK(growth.entries[0].end_before.bytes == 8_MiB);
    CHECK(growth.entries[0].end_after.bytes == 16_MiB);
    CHECK(growth.entries[0].peak_after.blocks == 2);
    CHECK(entry(growth, "me/train.py:4 run").change == Change::added);
    CHECK(entry(growth, "me/train.py:3 run").change == Change::removed);
}

TEST_CASE("the list is cut, and says so", "[advise]") {
    const VectorTrace before = program({{1, 1_MiB}, {2, 2_MiB}, {3, 3_MiB}});
    const VectorTrace after = program({{1, 2_MiB}, {2, 4_MiB}, {3, 6_MiB}});
    const Growth growth = find_growth(before, after, 2).value();

    REQUIRE(growth.entries.size() == 2);
    CHECK(growth.entries[0].name == "me/train.py:3 run");
    CHECK(growth.more == 1);
}

TEST_CASE("without stacks in one of the traces sizes are compared", "[advise]") {
    const VectorTrace before = program({{1, 4_MiB}});
    const VectorTrace after = TraceBuilder().allocate(0, 5_MiB).allocate(1, 40_MiB).build();
    const Growth growth = find_growth(before, after, 10).value();

    CHECK(!growth.by_site);
    CHECK(entry(growth, "32.0 MiB to 64.0 MiB").change == Change::added);
    CHECK(entry(growth, "4.00 MiB to 8.00 MiB").end_after.bytes == 5_MiB);
}

TEST_CASE("a trace does not differ from itself", "[advise]") {
    const VectorTrace trace = program({{1, 4_MiB}, {0, 8_MiB}});
    CHECK(find_growth(trace, trace, 10).value().entries.empty());
}
