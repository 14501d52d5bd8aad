// The grammar of conditions, and when they hold.
#include "replay/analysis/condition/condition.h"

#include <catch2/catch.hpp>

#include "replay/scenario/scenario.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;

namespace {

Condition condition(std::string_view text) {
    const Result<Condition> parsed = parse_condition(text, "--keep");
    INFO(text << ": " << (parsed ? "" : to_text(parsed.error())));
    REQUIRE(parsed.has_value());
    return *parsed;
}

bool holds(std::string_view text, std::vector<Measurement> measured) {
    return condition(text).holds(measured);
}

}  // namespace

TEST_CASE("a condition compares figures in their own units", "[analysis][condition]") {
    const std::vector<Measurement> run{metrics::bytes("peak_reserved_bytes", "", 2_GiB),
                                       metrics::count("retries", "", 3),
                                       metrics::time("stall_ns", "", 2'000'000),
                                       metrics::ratio("external_fragmentation_at_peak", "", 0.25)};
    CHECK(holds("reserved > 1GiB", run));
    CHECK_FALSE(holds("reserved > 2GiB", run));
    CHECK(holds("reserved >= 2GiB", run));
    CHECK(holds("peak_reserved_bytes == 2GiB", run));
    CHECK(holds("reserved<=2048MiB and retries!=4", run));
    CHECK_FALSE(holds("reserved > 1GiB and retries < 3", run));
    CHECK(holds("stall_ns >= 2ms", run));
    CHECK(holds("fragmentation > 24.5%", run));
    CHECK_FALSE(holds("fragmentation > 0.3", run));
    CHECK(holds("retries", run));
    CHECK_FALSE(holds("retries", {metrics::count("retries", "", 0)}));
}

TEST_CASE("a condition reads as it was written, with the figure's whole name",
          "[analysis][condition]") {
    CHECK(condition(" reserved  >70GiB and  out_of_memory").text() ==
          "peak_reserved_bytes > 70GiB and out_of_memory != 0");
}

TEST_CASE("what is no condition is an error that says what to write", "[analysis][condition]") {
    const auto error = [](std::string_view text) {
        const Result<Condition> parsed = parse_condition(text, "--keep");
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().code == ErrorCode::bad_option);
        CHECK(parsed.error().where == "--keep");
        return to_text(parsed.error());
    };
    CHECK(error("reservd > 1GiB").find("did you mean reserved?") != std::string::npos);
    CHECK(error("").find("missing") != std::string::npos);
    CHECK(error("reserved > 1GiB and ").find("missing") != std::string::npos);
    CHECK(error("reserved = 1GiB").find("is not a condition") != std::string::npos);
    CHECK(error("reserved > +1GiB").find("earlier run") != std::string::npos);
    for (const char* const text :
         {"reserved >", "reserved > 80", "reserved > 3s", "retries > 1GiB", "stall_ns > 7",
          "fragmentation > %", "reserved > 1GiB or retries", "> 3", "retries > -1"})
        error(text);
}

TEST_CASE("every figure of a replay can be asked for, under the name that the replay has it",
          "[analysis][condition]") {
    const support::VectorTrace trace = support::TraceBuilder().allocate(0, 1_MiB).free(0).build();
    const Result<Run> done = run(trace, {.policy = "best-fit"});
    REQUIRE(done.has_value());
    const std::vector<Measurement> known = known_figures();
    REQUIRE(known.size() == done->measurements.size());
    for (std::size_t i = 0; i < known.size(); ++i) {
        CHECK(known[i].name == done->measurements[i].name);
        CHECK(known[i].unit == done->measurements[i].unit);
        CHECK(condition(known[i].name).all.front().metric == known[i].name);
    }
}
