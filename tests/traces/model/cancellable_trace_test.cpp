// CancellableTrace: the same trace, until nobody wants it.
#include "traces/model/cancellable_trace.h"

#include <catch2/catch.hpp>

#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::events_of;
using support::TraceBuilder;

TEST_CASE("a cancellable trace is the trace until it is cancelled") {
    TraceBuilder builder;
    builder.allocate(0, 512).free(0);
    const support::VectorTrace trace = builder.build();
    bool cancelled = false;
    const CancellableTrace watched(trace, [&cancelled] { return cancelled; });
    CHECK(watched.hash() == trace.hash());
    CHECK(watched.recorded_hash() == trace.recorded_hash());
    CHECK(&watched.info() == &trace.info());
    CHECK(events_of(watched) == events_of(trace));
    const auto cursor = watched.cursor();
    cancelled = true;
    const auto batch = cursor->next();
    REQUIRE_FALSE(batch);
    CHECK(batch.error().code == ErrorCode::cancelled);
}
