// Where a condition begins to hold: the event with which it does, and none before.
#include "replay/analysis/condition/events_until.h"

#include <catch2/catch.hpp>

#include "tests/support/vector_trace.h"

namespace tidemark {
namespace {

// 3000 allocations of a MiB; every second one is freed at once.
std::unique_ptr<support::VectorTrace> filling_trace() {
    std::vector<TraceEvent> events;
    for (std::uint32_t i = 0; i < 3000; ++i) {
        events.push_back({.size = 1_MiB, .slot = i, .kind = EventKind::allocate});
        if (i % 2 == 1)
            events.push_back({.slot = i, .kind = EventKind::free});
    }
    return std::make_unique<support::VectorTrace>(std::move(events));
}

std::optional<std::uint64_t> until(const Trace& trace, const std::string& condition,
                                   Bytes memory = 0) {
    const Scenario scenario{.policy = "best-fit", .memory = memory};
    return events_until(trace, scenario, *parse_condition(condition, "")).value();
}

TEST_CASE("a condition begins to hold with one event", "[condition]") {
    const auto trace = filling_trace();
    CHECK(until(*trace, "requested >= 1MiB") == 1);
    CHECK(until(*trace, "requested > 1MiB") == 2);
    CHECK(until(*trace, "requested > 2MiB") == 5);
    CHECK(until(*trace, "requested >= 1000MiB") == 2996);
    CHECK(until(*trace, "requested > 1MiB and requested >= 1000MiB") == 2996);
    CHECK(until(*trace, "requested >= 2GiB") == std::nullopt);
    CHECK(until(*trace, "out_of_memory") == std::nullopt);
    CHECK(until(*trace, "out_of_memory", 1_GiB).has_value());
}

TEST_CASE("no event of a trace without events shows anything", "[condition]") {
    CHECK(until(support::VectorTrace({}), "requested >= 1MiB") == std::nullopt);
}

}  // namespace
}  // namespace tidemark
