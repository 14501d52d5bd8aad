// ScaledTrace: sizes, and nothing else, become other ones, to the byte.
#include "traces/model/scaled_trace.h"

#include <limits>

#include <catch2/catch.hpp>

#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::events_of;
using support::TraceBuilder;
using support::VectorTrace;

TEST_CASE("a scaled size is rounded up, exactly") {
    const Scale half = *Scale::of(0.5);
    CHECK(half(0) == 0);
    CHECK(half(1) == 1);
    CHECK(half(3) == 2);
    CHECK(half(4) == 2);
    // 0.07 x 100 is 7.000000000000001 in binary fractions, and 7 here.
    CHECK((*Scale::of(0.07))(100) == 7);
    CHECK((*Scale::of(0.001))(1) == 1);
    CHECK((*Scale::of(1000))(3_GiB) == 3000_GiB);
    CHECK((*Scale::of(1))((Bytes{1} << 59) + 1) == (Bytes{1} << 59) + 1);
}

TEST_CASE("no scale makes a request that cannot be one that can, or one that wraps around") {
    CHECK((*Scale::of(1e-3))(kLargestRequest) == kLargestRequest);
    CHECK((*Scale::of(1000))(kLargestRequest - 1) == kLargestRequest);
    constexpr Bytes kMost = std::numeric_limits<Bytes>::max();
    CHECK((*Scale::of(1000))(kMost) == kMost);
}

TEST_CASE("a factor out of its bounds is an error that names the option") {
    for (const double factor : {0.0, -1.0, 1000.1, 1e-10, std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()}) {
        const Result<Scale> scale = Scale::of(factor);
        REQUIRE_FALSE(scale);
        CHECK(scale.error().code == ErrorCode::bad_option);
        CHECK(scale.error().where == "--scale");
    }
}

TEST_CASE("a scaled trace has the same events with other sizes and no addresses") {
    const VectorTrace trace = TraceBuilder()
                                  .segment(EventKind::segment_alloc, 0x1000, 2_MiB)
                                  .allocate(0, 1001, 0x1000, 3)
                                  .allocate(1, 0)
                                  .add({.size = 7, .kind = EventKind::out_of_memory})
                                  .free(0)
                                  .build();
    const ScaledTrace scaled(trace, *Scale::of(2.5));
    std::vector<TraceEvent> expected = events_of(trace);
    const Bytes sizes[] = {5_MiB, 2503, 0, 18, 0};
    REQUIRE(expected.size() == std::size(sizes));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i].size = sizes[i];
        expected[i].address = 0;
    }
    CHECK(events_of(scaled) == expected);
    CHECK(scaled.info().event_count == trace.info().event_count);
    CHECK(scaled.info().slot_count == trace.info().slot_count);
    REQUIRE(scaled.info().warnings.size() == 1);
    CHECK(scaled.info().warnings.front().find("by 2.5") != std::string::npos);
    CHECK(scaled.hash() != trace.hash());
    CHECK(scaled.hash() != ScaledTrace(trace, *Scale::of(2)).hash());
}
