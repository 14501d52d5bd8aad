// Jitter: another run of the same program, no other program.
#include "replay/analysis/spread/jitter.h"

#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "replay/analysis/compare/compare.h"
#include "tests/support/vector_trace.h"
#include "traces/model/varied_trace.h"
#include "traces/open.h"

namespace tidemark {
namespace {

std::unique_ptr<Trace> opened(const std::string& name) {
    auto trace = open_trace(
        name.starts_with("generate:") ? name : TIDEMARK_SOURCE_DIR "/traces/samples/" + name);
    REQUIRE(trace);
    return std::move(*trace);
}

std::vector<TraceEvent> events_of(const Trace& trace) {
    std::vector<TraceEvent> events;
    const auto cursor = trace.cursor();
    for (;;) {
        const auto batch = cursor->next();
        REQUIRE(batch);
        if (batch->count == 0)
            return events;
        for (std::size_t i = 0; i < batch->count; ++i)
            events.push_back((*batch)[i]);
    }
}

TEST_CASE("sizes of a variant change by 0.4 % at most, equal ones equally, small ones not",
          "[spread]") {
    CHECK(varied_size(1_MiB - 1, 3) == 1_MiB - 1);
    std::set<Bytes> seen;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Bytes size = varied_size(1_GiB, seed);
        CHECK(size == varied_size(1_GiB, seed));
        CHECK(static_cast<double>(size) == Approx(static_cast<double>(1_GiB)).epsilon(0.004));
        seen.insert(size);
    }
    CHECK(seen.size() == 20);
}

TEST_CASE("a variant has every event once, and every block's in their order", "[spread]") {
    const auto trace = opened("streams/fsdp-1.1.pickle.xz");
    const std::vector<TraceEvent> before = events_of(*trace);
    const VariedTrace varied(*trace, 7);
    const std::vector<TraceEvent> after = events_of(varied);
    REQUIRE(after.size() == before.size());
    CHECK(varied.hash() != trace->hash());

    std::size_t moved = 0;
    std::map<std::uint32_t, std::vector<EventKind>> kinds_before;
    std::map<std::uint32_t, std::vector<EventKind>> kinds_after;
    std::map<StreamId, std::vector<std::uint32_t>> slots_before;
    std::map<StreamId, std::vector<std::uint32_t>> slots_after;
    for (std::size_t i = 0; i < before.size(); ++i) {
        CHECK(before[i].time == after[i].time);
        moved += before[i].slot != after[i].slot ? 1U : 0U;
        kinds_before[before[i].slot].push_back(before[i].kind);
        kinds_after[after[i].slot].push_back(after[i].kind);
        slots_before[before[i].stream].push_back(before[i].slot);
        slots_after[after[i].stream].push_back(after[i].slot);
    }
    CHECK(moved > 0);
    CHECK(kinds_before == kinds_after);
    CHECK(slots_before == slots_after);
}

TEST_CASE("jitter is the same on every number of threads, and says who is lowest how often",
          "[spread][compare]") {
    const auto trace = opened("generate:steps:events=3000");
    const std::vector<NamedTrace> traces{{"t", trace.get()}};
    const std::vector<Scenario> scenarios{{.policy = "torch"}, {.policy = "cuda-malloc"}};
    const auto one = compare(traces, scenarios, {.threads = 1, .jitter = 6, .progress = {}});
    const auto two = compare(traces, scenarios, {.threads = 3, .jitter = 6, .progress = {}});
    REQUIRE(one);
    REQUIRE(two);
    unsigned lowest = 0;
    for (std::size_t i = 0; i < 2; ++i) {
        const JitteredPeaks& a = *one->traces[0].rows[i].jitter;
        const JitteredPeaks& b = *two->traces[0].rows[i].jitter;
        CHECK(a.peak.p50 == b.peak.p50);
        CHECK(a.saving.p50 == b.saving.p50);
        CHECK(a.peak.runs == 6);
        CHECK(a.peak.p5 <=
              one->traces[0].rows[i].run.measurement("peak_reserved_bytes").whole * 101 / 100);
        lowest += a.lowest;
    }
    CHECK(lowest >= 6);
    CHECK(one->traces[0].rows[0].label == "cuda-malloc");
    CHECK(one->traces[0].rows[0].jitter->lowest == 6);
    CHECK(one->traces[0].verdict == two->traces[0].verdict);
    CHECK(one->traces[0].verdict.find("6 jittered variants") != std::string::npos);
}

}  // namespace
}  // namespace tidemark
