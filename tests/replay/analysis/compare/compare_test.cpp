// compare: the same answer on any number of threads, the right order, and a sentence that follows
// from the figures.
#include "replay/analysis/compare/compare.h"

#include <atomic>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/base/random.h"
#include "tests/support/vector_trace.h"

namespace tidemark {
namespace {

using support::TraceBuilder;
using support::VectorTrace;

// Random sizes and lifetimes, with 40 allocations alive at most; a millisecond between events.
VectorTrace random_trace(std::uint64_t seed, int events) {
    Random random(seed);
    std::vector<TraceEvent> made;
    std::vector<bool> live(40);
    for (int i = 0; i < events; ++i) {
        const auto slot = static_cast<std::uint32_t>(random.below(live.size()));
        TraceEvent event;
        event.time = Nanoseconds{1'000'000} * i;
        event.slot = slot;
        event.kind = live[slot] ? EventKind::free : EventKind::allocate;
        event.size = live[slot] ? 0 : 1 + random.below(8_MiB);
        live[slot] = !live[slot];
        made.push_back(event);
    }
    return VectorTrace(std::move(made));
}

std::vector<Scenario> policies(std::initializer_list<const char*> names, Bytes memory = 2_GiB) {
    std::vector<Scenario> scenarios;
    for (const char* name : names)
        scenarios.push_back({.policy = name, .memory = memory});
    return scenarios;
}

// Everything in a comparison but wall time.
std::string dump(const Comparison& comparison) {
    std::string text = comparison.verdict + "\n";
    for (const TraceComparison& trace : comparison.traces) {
        text +=
            fmt::format("{} {} {} {}\n", trace.name, trace.trace_hash, trace.events, trace.verdict);
        for (const ComparisonRow& row : trace.rows) {
            text += fmt::format("{} {} {} {} {} {} {} {}\n", row.label, row.scenario, row.baseline,
                                row.recommended, row.run.scenario.policy, row.run.summary.events,
                                row.run.summary.elapsed, row.run.summary.elapsed_total);
            for (const Measurement& measurement : row.run.measurements)
                text += fmt::format("{} {}\n", measurement.name, measurement.value());
            for (const ComparisonCell& cell : row.cells)
                text += fmt::format("{} {} {} {}\n", cell.measurement.name, cell.change,
                                    cell.comparable, cell.best);
            for (const TimelineBucket& bucket : row.run.timeline.buckets)
                text += fmt::format("{} {}\n", bucket.time, bucket.reserved_max);
        }
    }
    for (const ComparisonTotal& total : comparison.totals)
        text += fmt::format("{} {} {} {} {}\n", total.label, total.baseline, total.recommended,
                            total.overhead_ratio, total.change);
    return text;
}

Comparison must_compare(std::span<const NamedTrace> traces, std::span<const Scenario> scenarios,
                        const CompareOptions& options = {}) {
    Result<Comparison> result = compare(traces, scenarios, options);
    INFO((result ? "" : to_text(result.error())));
    REQUIRE(result);
    return std::move(*result);
}

TEST_CASE("a comparison is the same on one thread and on many", "[compare]") {
    const VectorTrace a = random_trace(1, 3000);
    const VectorTrace b = random_trace(2, 2000);
    const VectorTrace c = random_trace(3, 100);
    const std::vector<NamedTrace> traces{{"a", &a}, {"b", &b}, {"c", &c}};
    const auto scenarios = policies({"torch", "best-fit", "buddy", "bump", "cuda-malloc"});

    const std::string one = dump(must_compare(traces, scenarios, {.threads = 1, .progress = {}}));
    for (const unsigned threads : {2U, 4U, 100U, 0U})
        CHECK(dump(must_compare(traces, scenarios, {.threads = threads, .progress = {}})) == one);
}

TEST_CASE("rows are ranked by refusals, then peak, and compared with the first given",
          "[compare]") {
    const VectorTrace trace = random_trace(4, 3000);
    const std::vector<NamedTrace> traces{{"t", &trace}};
    auto scenarios = policies({"torch", "cuda-malloc", "best-fit"});
    scenarios.insert(scenarios.begin() + 1, {.policy = "buddy", .memory = 32_MiB, .overhead = 0});
    const Comparison comparison = must_compare(traces, scenarios);

    REQUIRE(comparison.traces.size() == 1);
    const auto& rows = comparison.traces[0].rows;
    REQUIRE(rows.size() == 4);
    CHECK(rows.front().label == "cuda-malloc");
    CHECK(rows.back().label == "buddy");  // the lowest peak of all, but on a tiny device
    CHECK(rows.back().run.summary.refused > 0);
    for (std::size_t i = 1; i + 1 < rows.size(); ++i)
        CHECK(rows[i - 1].run.measurement("peak_reserved_bytes").whole <=
              rows[i].run.measurement("peak_reserved_bytes").whole);
    for (const ComparisonRow& row : rows) {
        CHECK(row.baseline == (row.label == "torch"));
        REQUIRE(row.cells.size() == comparison_columns().size());
        CHECK(row.cells[0].measurement.name == comparison_columns()[0]);
        CHECK(row.cells[0].comparable == !row.baseline);
        CHECK(row.cells[0].best == (row.label == "cuda-malloc"));
    }
    const ComparisonRow& torch =
        *std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.baseline; });
    const double base = torch.cells[0].measurement.value();
    CHECK(rows.front().cells[0].change ==
          Approx((rows.front().cells[0].measurement.value() - base) / base));
    CHECK(comparison.totals.empty());
    CHECK(comparison.verdict == comparison.traces[0].verdict);
}

TEST_CASE("no policy is best where all need the same", "[compare]") {
    const VectorTrace trace = TraceBuilder().allocate(0, 2_MiB).free(0).build();
    const std::vector<NamedTrace> traces{{"t", &trace}};
    const Comparison comparison = must_compare(traces, policies({"cuda-malloc", "cuda-malloc"}));
    for (const ComparisonRow& row : comparison.traces[0].rows) {
        for (const ComparisonCell& cell : row.cells)
            CHECK_FALSE(cell.best);
    }
}

TEST_CASE("rows of one policy are told apart by their options, else by their place", "[compare]") {
    const VectorTrace trace = random_trace(5, 200);
    const std::vector<NamedTrace> traces{{"t", &trace}};
    const auto labels = [&traces](const std::vector<Scenario>& scenarios) {
        std::vector<std::string> found(scenarios.size());
        const Comparison comparison = must_compare(traces, scenarios);
        for (const ComparisonRow& row : comparison.traces[0].rows)
            found[row.scenario] = row.label;
        return found;
    };
    CHECK(labels(policies({"torch", "bump"})) == std::vector<std::string>{"torch", "bump"});
    CHECK(labels(policies({"torch", "torch:max_split_size_mb=64", "bump"})) ==
          std::vector<std::string>{"torch", "torch:max_split_size_mb=64", "bump"});
    CHECK(labels(policies({"torch", "torch"})) == std::vector<std::string>{"torch #1", "torch #2"});
}

TEST_CASE("the recorded policy is called so, and may meet its namesake", "[compare]") {
    TraceInfo info;
    info.format = "torch-snapshot";
    const VectorTrace trace = TraceBuilder().allocate(0, 2_MiB).free(0).build(info);
    const std::vector<NamedTrace> traces{{"t", &trace}, {"u", &trace}};
    const Comparison comparison = must_compare(traces, policies({"", "torch"}));
    CHECK(comparison.traces[0].rows[0].label == "torch (as recorded)");
    CHECK(comparison.traces[0].rows[1].label == "torch");
    CHECK(comparison.totals[0].label == "as recorded");
}

TEST_CASE("totals are geometric means and sums over the traces", "[compare]") {
    const VectorTrace a = random_trace(6, 2000);
    const VectorTrace b = random_trace(7, 2000);
    const std::vector<NamedTrace> traces{{"a", &a}, {"b", &b}};
    const Comparison comparison = must_compare(traces, policies({"torch", "best-fit"}));

    REQUIRE(comparison.totals.size() == 2);
    double product[2] = {1, 1};
    Nanoseconds driver[2] = {0, 0};
    for (const TraceComparison& trace : comparison.traces) {
        for (const ComparisonRow& row : trace.rows) {
            product[row.scenario] *= row.run.measurement("overhead_ratio").real;
            driver[row.scenario] +=
                static_cast<Nanoseconds>(row.run.measurement("driver_ns").whole);
        }
    }
    for (const ComparisonTotal& total : comparison.totals) {
        const int scenario = total.label == "torch" ? 0 : 1;
        CHECK(total.overhead_ratio * total.overhead_ratio == Approx(product[scenario]));
        CHECK(total.driver_time == driver[scenario]);
        CHECK((1 + total.change) * (1 + total.change) == Approx(product[scenario] / product[0]));
    }
    CHECK_FALSE(comparison.verdict.empty());
}

TEST_CASE("the first error in the order of units is the one reported", "[compare]") {
    const VectorTrace trace = random_trace(8, 500);
    const std::vector<NamedTrace> traces{{"t", &trace}};
    const auto scenarios = policies({"torch", "no-such-one", "no-such-two", "best-fit"});
    for (const unsigned threads : {1U, 4U}) {
        for (int repeat = 0; repeat < 20; ++repeat) {
            const auto result = compare(traces, scenarios, {.threads = threads, .progress = {}});
            REQUIRE_FALSE(result);
            CHECK(to_text(result.error()).find("no-such-one") != std::string::npos);
        }
    }
}

TEST_CASE("nothing to compare is a bad option", "[compare]") {
    const VectorTrace trace = random_trace(9, 10);
    const std::vector<NamedTrace> traces{{"t", &trace}};
    CHECK(compare({}, policies({"torch"})).error().code == ErrorCode::bad_option);
    CHECK(compare(traces, {}).error().code == ErrorCode::bad_option);
}

TEST_CASE("progress adds up to all events of all units", "[compare]") {
    const VectorTrace a = random_trace(10, 500);
    const VectorTrace b = random_trace(11, 300);
    const std::vector<NamedTrace> traces{{"a", &a}, {"b", &b}};
    std::uint64_t last = 0;
    std::atomic<int> inside = 0;
    bool alone = true;
    bool rising = true;
    const auto listener = [&](std::uint64_t done, std::uint64_t total) {
        alone = alone && inside.fetch_add(1) == 0;
        rising = rising && done >= last && total == 1600;
        last = done;
        inside.fetch_sub(1);
    };
    must_compare(traces, policies({"torch", "bump"}), {.threads = 4, .progress = listener});
    CHECK(alone);
    CHECK(rising);
    CHECK(last == 1600);
}

}  // namespace
}  // namespace tidemark
