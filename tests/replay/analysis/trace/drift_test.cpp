// Periods in sequences, and the first event of a program that is not as it was an iteration before.
#include "replay/analysis/trace/drift.h"

#include <catch2/catch.hpp>

#include "replay/analysis/trace/period.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

std::vector<std::uint32_t> repeated(const std::vector<std::uint32_t>& part, std::size_t times) {
    std::vector<std::uint32_t> all;
    for (std::size_t i = 0; i < times; ++i)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

std::vector<std::uint32_t> operator+(std::vector<std::uint32_t> left,
                                     const std::vector<std::uint32_t>& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

void check_period(const std::vector<std::uint32_t>& symbols, Period expected) {
    const Period found = find_period(symbols);
    CHECK(found.begin == expected.begin);
    CHECK(found.end == expected.end);
    CHECK(found.length == expected.length);
}

// Iterations of three requests; what differs in the one of that number.
struct Odd {
    int iteration = 0;
    Bytes size = 200;
    std::uint64_t address = 0x2000;
    bool late_free = false;
    bool refused = false;
};

VectorTrace iterations(int count, Odd odd, bool ranges, bool addresses = true) {
    TraceInfo info;
    TraceBuilder builder;
    for (int i = 1; i <= count; ++i) {
        const Odd now = i == odd.iteration ? odd : Odd{};
        const std::uint32_t name = info.strings.intern("step " + std::to_string(i));
        if (ranges)
            builder.add({.aux = name, .kind = EventKind::range_begin});
        builder.allocate(0, 100, addresses ? 0x1000 : 0);
        if (now.refused)
            builder.add({.size = 200, .kind = EventKind::out_of_memory});
        else
            builder.allocate(1, now.size, addresses ? now.address : 0);
        if (!now.late_free)
            builder.free(0);
        builder.allocate(2, 300, addresses ? 0x3000 : 0);
        if (now.late_free)
            builder.free(0);
        if (!now.refused)
            builder.free(1);
        builder.free(2);
        if (ranges)
            builder.add({.aux = name, .kind = EventKind::range_end});
    }
    return builder.build(info);
}

DriftReport drift_of(const VectorTrace& trace) {
    Result<DriftReport> report = find_drift(trace);
    REQUIRE(report.has_value());
    return std::move(*report);
}

}  // namespace

TEST_CASE("the longest part that repeats is found, with its shortest period", "[drift]") {
    check_period({}, {});
    check_period({1}, {});
    check_period({1, 2, 3, 4, 5}, {});
    check_period(repeated({1, 2}, 2), {0, 4, 2});
    check_period(repeated({1, 2}, 2) + std::vector<std::uint32_t>{3, 4, 5, 6, 7}, {});
    check_period(repeated({1, 2}, 3), {0, 6, 2});
    check_period(repeated({7}, 9), {0, 9, 1});
    check_period(repeated({1, 2, 3}, 5) + std::vector<std::uint32_t>{1, 9}, {0, 16, 3});
    // Of loops in a loop, the outer one.
    check_period(repeated(repeated({5, 6}, 4) + std::vector<std::uint32_t>{8}, 4), {0, 36, 9});
    // After a warm-up that is shorter than what repeats.
    const std::vector<std::uint32_t> warm_up{9, 9, 8, 1, 4, 4, 2};
    check_period(warm_up + repeated({1, 2, 3, 4}, 6), {7, 31, 4});
    check_period(warm_up + repeated({1, 2, 3, 4}, 6) + warm_up, {7, 31, 4});
}

TEST_CASE("what find_period says is true of the sequence", "[drift]") {
    std::uint32_t state = 1;
    for (int round = 0; round < 200; ++round) {
        std::vector<std::uint32_t> symbols;
        for (int i = 0; i < 60; ++i) {
            state = state * 1664525U + 1013904223U;
            symbols.push_back(state >> 30U);
        }
        const Period period = find_period(symbols);
        if (period.length == 0)
            continue;
        REQUIRE(period.end <= symbols.size());
        CHECK((period.repeats() >= 3 ||
               (period.repeats() == 2 && 2 * (period.end - period.begin) >= symbols.size())));
        for (std::size_t i = period.begin + period.length; i < period.end; ++i)
            CHECK(symbols[i] == symbols[i - period.length]);
        if (period.end < symbols.size())
            CHECK(symbols[period.end] != symbols[period.end - period.length]);
    }
}

TEST_CASE("a program that does the same again and again is periodic", "[drift]") {
    for (const bool ranges : {true, false}) {
        const DriftReport report = drift_of(iterations(8, {}, ranges));
        CHECK(report.steps == (ranges ? "step N" : ""));
        CHECK(report.iterations == 8);
        CHECK(report.requests == 3);
        CHECK(report.periodic());
        for (const AspectDrift& each : report.aspects) {
            CHECK(each.known);
            CHECK(each.alike == 7);
            CHECK(each.alike_from == 1);
            CHECK_FALSE(each.difference.has_value());
        }
    }
}

TEST_CASE("the first request that isn't as before is found", "[drift]") {
    for (const bool ranges : {true, false}) {
        const DriftReport report = drift_of(iterations(8, {.iteration = 7, .size = 256}, ranges));
        CHECK_FALSE(report.periodic());
        const AspectDrift& requests = report.aspects.at(0);
        REQUIRE(requests.difference.has_value());
        CHECK(requests.difference->iteration == 7);
        CHECK(requests.difference->now->size == 256);
        CHECK(requests.difference->before->size == 200);
        CHECK(requests.difference->before->event < requests.difference->now->event);
        CHECK(requests.alike == 5);
    }
}

TEST_CASE("the same sequence works twice and fails the third time", "[drift]") {
    for (const bool ranges : {true, false}) {
        // Ranges take a few to be steps.
        const int count = ranges ? 6 : 3;
        const DriftReport report =
            drift_of(iterations(count, {.iteration = count, .refused = true}, ranges));
        const AspectDrift& requests = report.aspects.at(0);
        CHECK(report.iterations == static_cast<std::uint64_t>(count));
        REQUIRE(requests.difference.has_value());
        CHECK(requests.difference->iteration == static_cast<std::uint64_t>(count));
        CHECK(requests.difference->now->kind == EventKind::out_of_memory);
        CHECK(requests.difference->before->kind == EventKind::allocate);
    }
}

TEST_CASE("addresses may drift though requests and frees don't", "[drift]") {
    for (const bool ranges : {true, false}) {
        const DriftReport report =
            drift_of(iterations(9, {.iteration = 5, .address = 0x9000}, ranges));
        CHECK_FALSE(report.aspects.at(0).difference.has_value());
        CHECK_FALSE(report.aspects.at(1).difference.has_value());
        REQUIRE(report.aspects.at(2).difference.has_value());
        CHECK(report.aspects.at(2).difference->iteration == 5);
        CHECK(report.aspects.at(2).difference->now->address == 0x9000);
        CHECK(report.aspects.at(2).difference->before->address == 0x2000);
    }
    const DriftReport without = drift_of(iterations(9, {}, true, false));
    CHECK_FALSE(without.aspects.at(2).known);
    CHECK(without.periodic());
}

TEST_CASE("a free that comes later than before is found", "[drift]") {
    for (const bool ranges : {true, false}) {
        const DriftReport report =
            drift_of(iterations(9, {.iteration = 6, .late_free = true}, ranges));
        CHECK_FALSE(report.aspects.at(0).difference.has_value());
        REQUIRE(report.aspects.at(1).difference.has_value());
        CHECK(report.aspects.at(1).difference->iteration == 6);
        CHECK(report.aspects.at(1).difference->now->size == 100);
    }
}

TEST_CASE("a warm-up that differs is no drift", "[drift]") {
    for (const bool ranges : {true, false}) {
        const DriftReport report = drift_of(iterations(9, {.iteration = 1, .size = 900}, ranges));
        CHECK_FALSE(report.aspects.at(0).difference.has_value());
        CHECK(report.aspects.at(0).alike_from == (ranges ? 2 : 1));
    }
}

TEST_CASE("a break between identical iterations is found, though what comes after it is longer",
          "[drift]") {
    const DriftReport report = drift_of(iterations(30, {.iteration = 4, .size = 256}, false));
    REQUIRE(report.aspects.at(0).difference.has_value());
    CHECK(report.aspects.at(0).difference->iteration == 4);
    CHECK(report.aspects.at(0).difference->now->size == 256);
    CHECK(report.iterations == 30);
}

TEST_CASE("a loop in a small part of the trace is no iteration", "[drift]") {
    TraceBuilder builder;
    for (std::uint32_t i = 0; i < 60; ++i)
        builder.allocate(i, i < 40 ? 100 + i * i : 7 + i % 2);
    CHECK(drift_of(builder.build()).iterations == 0);
}

TEST_CASE("where nothing repeats there are no iterations", "[drift]") {
    TraceBuilder builder;
    for (std::uint32_t i = 0; i < 20; ++i)
        builder.allocate(i, 100 + i * i);
    const DriftReport report = drift_of(builder.build());
    CHECK(report.iterations == 0);
    CHECK(report.aspects.empty());
    CHECK_FALSE(report.periodic());
    CHECK(drift_of(VectorTrace({})).iterations == 0);
}
