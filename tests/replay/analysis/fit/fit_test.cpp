// fit: the smallest memory is the smallest, deaths are where they are, and what is no death.
#include "replay/analysis/fit/fit.h"

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

namespace tidemark {
namespace {

using support::TraceBuilder;
using support::VectorTrace;

FitReport must_fit(const Trace& trace, FitQuestion question) {
    Result<FitReport> report = fit(trace, question);
    INFO((report ? "" : to_text(report.error())));
    REQUIRE(report);
    return std::move(*report);
}

FitReport fit_one(const Trace& trace, std::string policy, FitQuestion question = {}) {
    question.policies = {std::move(policy)};
    return must_fit(trace, std::move(question));
}

VectorTrace growing() {
    return TraceBuilder().allocate(0, 30_MiB).free(0).allocate(1, 40_MiB).free(1).build();
}

// Random sizes and lifetimes: enough fragmentation that bounds are no answer.
VectorTrace random_trace(std::uint64_t seed) {
    Random random(seed);
    TraceBuilder builder;
    for (int i = 0; i < 2000; ++i) {
        const auto slot = static_cast<std::uint32_t>(random.below(60));
        builder.free(slot).allocate(slot, 1 + random.below(40_MiB));
    }
    return builder.build();
}

bool survives(const Trace& trace, const TrialSetup& setup) {
    const Result<TrialResult> result = run_trial(trace, setup);
    REQUIRE(result);
    return result->survived();
}

bool has_note(const FitReport& report, std::string_view part) {
    for (const std::string& note : report.notes)
        if (note.find(part) != std::string::npos)
            return true;
    return false;
}

TEST_CASE("the smallest card holds what lives at once, and the overhead", "[analysis][fit]") {
    const VectorTrace trace =
        TraceBuilder().allocate(0, 31_MiB).allocate(1, 10_MiB).free(0).allocate(2, 9_MiB).build();

    const FitReport report = fit_one(trace, "cuda-malloc", {.overhead = 100_MiB});

    REQUIRE(report.rows.size() == 1);
    CHECK(report.rows[0].smallest_memory == 142_MiB);  // 41 MiB in steps of 2, and 100
    CHECK(report.rows[0].smallest_limit == 42_MiB);
    CHECK(report.rows[0].survives);
    CHECK_FALSE(report.requested());
}

TEST_CASE("caches are emptied before a death", "[analysis][fit]") {
    const FitReport report = fit_one(growing(), "torch", {.overhead = 0});

    const FitRow& row = report.rows[0];
    CHECK(row.unlimited.peak.reserved == 70_MiB);
    CHECK(row.smallest_memory == 40_MiB);
    CHECK(row.smallest_limit == 40_MiB);
    CHECK(row.at_smallest.retries == 1);
    CHECK(row.at_smallest.flush_time > 0);
}

TEST_CASE("the smallest memory survives, and the next smaller one dies", "[analysis][fit]") {
    const auto policy = GENERATE(as<std::string>{}, "torch", "torch:max_split_size_mb=24",
                                 "best-fit", "buddy", "bump");
    const std::uint64_t seed = GENERATE(1U, 2U, 3U);
    const VectorTrace trace = random_trace(seed);
    CAPTURE(policy, seed);

    const FitRow row = fit_one(trace, policy, {.overhead = 64_MiB}).rows[0];

    REQUIRE(row.smallest_memory > 0);
    REQUIRE(row.smallest_limit > 0);
    TrialSetup setup{.policy = *parse_policy(policy), .overhead = 64_MiB};
    setup.memory = row.smallest_memory;
    CHECK(survives(trace, setup));
    setup.memory -= kFitResolution;
    CHECK_FALSE(survives(trace, setup));
    setup.memory = 0;
    setup.overhead = 0;
    setup.limit = row.smallest_limit;
    CHECK(survives(trace, setup));
    setup.limit = row.smallest_limit - kFitResolution;
    CHECK_FALSE(survives(trace, setup));
    CHECK(row.replays < 40);
}

TEST_CASE("garbage collection acts under a limit, not on a card", "[analysis][fit]") {
    const VectorTrace trace = random_trace(4);

    const FitReport report =
        must_fit(trace, {.policies = {"torch", "torch:garbage_collection_threshold=0.5"},
                         .memory = 3_GiB,
                         .overhead = 0});
    const FitReport limited = must_fit(
        trace,
        {.policies = {"torch", "torch:garbage_collection_threshold=0.5"}, .limit = 1900_MiB});

    CHECK(report.rows[0].costs == report.rows[1].costs);
    CHECK(report.rows[0].smallest_memory == report.rows[1].smallest_memory);
    CHECK_FALSE(limited.rows[0].costs == limited.rows[1].costs);
}

TEST_CASE("a death says where, what, and how fragmented", "[analysis][fit]") {
    TraceInfo info;
    const std::uint32_t step = info.strings.intern("step");
    const VectorTrace trace = TraceBuilder()
                                  .add({.aux = step, .kind = EventKind::range_begin})
                                  .allocate(0, 5_MiB)
                                  .allocate(1, 5_MiB)
                                  .allocate(2, 5_MiB)
                                  .allocate(3, 5_MiB)
                                  .free(0)
                                  .free(2)
                                  .allocate(4, 9_MiB)
                                  .allocate(5, 9_MiB)
                                  .build(info);

    const FitReport report = fit_one(trace, "torch", {.memory = 30_MiB, .overhead = 6_MiB});

    const FitRow& row = report.rows[0];
    CHECK_FALSE(row.survives);
    REQUIRE(row.died_at);
    CHECK(row.died_at->refusal.event == 7);
    CHECK(row.died_at->refusal.what.size == 9_MiB);
    CHECK(row.died_at->refusal.usage.reserved == 20_MiB);
    CHECK(row.died_at->refusal.usage.allocated == 10_MiB);
    CHECK(row.died_at->refusal.largest_free == 5_MiB);
    CHECK(row.died_at->refused_in_all == 2);
    REQUIRE(row.died_at->position.inside.size() == 1);
    CHECK(row.died_at->position.inside[0].name == "step");
    CHECK(row.costs.retries == 2);         // to the end of the trace
    CHECK(row.smallest_memory == 46_MiB);  // two segments of 20 MiB, and the overhead
}

TEST_CASE("what was out of memory when recorded asks for another size", "[analysis][fit]") {
    const VectorTrace trace = TraceBuilder()
                                  .allocate(0, 10_MiB)
                                  .add({.size = 900_GiB, .kind = EventKind::out_of_memory})
                                  .allocate(1, 10_MiB)
                                  .build();

    const FitReport report = fit_one(trace, "torch", {.memory = 100_MiB, .overhead = 0});

    CHECK_FALSE(report.rows[0].survives);
    CHECK(report.rows[0].no_worse);
    CHECK(report.rows[0].out_of_memory == 1);
    CHECK(report.rows[0].smallest_memory_no_worse == 20_MiB);
    CHECK(report.rows[0].smallest_memory >= 900_GiB);
    CHECK(report.recorded_refusals == 1);
    CHECK(has_note(report, "itself ran out of memory"));
}

TEST_CASE("what no memory can hold dies anywhere", "[analysis][fit]") {
    const VectorTrace trace = TraceBuilder().allocate(0, kLargestRequest).build();

    const FitReport report = fit_one(trace, "torch", {.memory = 1_GiB});

    CHECK_FALSE(report.rows[0].survives);
    CHECK(report.rows[0].smallest_memory == 0);
    CHECK(report.rows[0].smallest_limit == 0);
    CHECK(report.rows[0].died_at->refusal.why.cause == OutOfMemory::Cause::too_large);
}

TEST_CASE("the answer is about the recorded settings, or the best of those named",
          "[analysis][fit]") {
    TraceInfo info;
    info.format = "torch-snapshot";
    const VectorTrace trace = TraceBuilder()
                                  .allocate(0, 30_MiB)
                                  .allocate(1, 12_MiB)
                                  .free(0)
                                  .free(1)
                                  .allocate(2, 45_MiB)
                                  .build(info);

    const FitReport recorded = must_fit(trace, {.memory = 46_MiB, .overhead = 0});
    const FitReport named = must_fit(
        trace, {.policies = {"bump", "cuda-malloc", "torch"}, .memory = 46_MiB, .overhead = 0});

    CHECK(recorded.answer == 0);
    CHECK(recorded.rows[0].recorded);
    CHECK(recorded.rows[0].policy == "torch");
    CHECK(recorded.rows.size() ==
          usual_candidates(growing(), false)->size());  // torch itself is among them
    REQUIRE(named.rows.size() == 3);
    CHECK(named.rows[0].policy == "torch");
    CHECK(named.rows[named.answer].policy != "bump");
    CHECK(named.rows[named.answer].survives);
}

TEST_CASE("traces of unknown allocators have candidates only", "[analysis][fit]") {
    const FitReport report = must_fit(growing(), {});

    CHECK(report.rows.size() == usual_candidates(growing(), false)->size());
    CHECK_FALSE(report.rows[0].recorded);
    CHECK(has_note(report, "no row for the recorded settings"));
    CHECK(must_fit(growing(), {.limit = 1_GiB}).rows.size() ==
          usual_candidates(growing(), true)->size());
}

TEST_CASE("what a recording lacks is told", "[analysis][fit]") {
    TraceInfo info;
    info.begins_inside = true;
    info.cut_off = true;
    info.devices.resize(2);
    const VectorTrace trace =
        TraceBuilder().allocate(0, 1_MiB).end(EventKind::retire, 0).build(std::move(info));

    const FitReport report = fit_one(trace, "torch");

    CHECK(has_note(report, "starts in the middle"));
    CHECK(has_note(report, "cut off"));
    CHECK(has_note(report, "each of 2 devices"));
    CHECK(has_note(report, "waited for the device"));
}

TEST_CASE("a policy with a limit of its own has no smallest limit", "[analysis][fit]") {
    const FitReport report = fit_one(growing(), "torch:limit=60MiB", {.overhead = 0});

    CHECK(report.rows[0].smallest_limit == 0);
    CHECK(report.rows[0].smallest_memory == 40_MiB);
    CHECK_FALSE(fit(growing(), {.policies = {"torch:limit=60MiB"}, .limit = 50_MiB}));
}

TEST_CASE("a fraction is of the card in question", "[analysis][fit]") {
    const FitRow row =
        fit_one(growing(), "torch:per_process_memory_fraction=0.5", {.overhead = 0}).rows[0];

    CHECK(row.smallest_memory == 80_MiB);
    CHECK(row.smallest_limit == 40_MiB);
}

TEST_CASE("the answer is the same on any number of threads", "[analysis][fit]") {
    const VectorTrace trace = random_trace(5);
    const auto summary = [&](unsigned threads) {
        std::uint64_t last = 0;
        const FitReport report = must_fit(
            trace, {.memory = 2_GiB, .threads = threads, .progress = [&](auto done, auto total) {
                        CHECK(done >= last);
                        CHECK(done <= total);
                        last = done;
                    }});
        std::vector<std::uint64_t> figures;
        for (const FitRow& row : report.rows)
            figures.insert(figures.end(), {row.smallest_memory, row.smallest_limit, row.replays,
                                           row.died_at ? row.died_at->refusal.event : 0});
        return figures;
    };

    CHECK(summary(1) == summary(4));
}

TEST_CASE("questions that cannot be are refused", "[analysis][fit]") {
    const VectorTrace trace = growing();

    CHECK_FALSE(fit(trace, {.memory = 1_GiB, .limit = 1_GiB}));
    CHECK_FALSE(fit(trace, {.memory = 1_GiB, .overhead = 1_GiB}));
    CHECK_FALSE(fit(trace, {.memory = ~Bytes{0} / 2}));
    CHECK_FALSE(fit(trace, {.policies = {"torhc"}}));
    CHECK_FALSE(fit(trace, {.policies = {"torch:max_split_size_mb=3"}}));
    CHECK_FALSE(fit(trace, {.profile = "no-such-profile"}));
}

TEST_CASE("a recorded run fits on its own peak", "[analysis][fit]") {
    const auto trace = open_trace(TIDEMARK_SOURCE_DIR "/traces/samples/torch/gpt2_var.pickle.xz");
    REQUIRE(trace);

    const FitReport report = fit_one(**trace, "torch");

    const FitRow& row = report.rows[0];
    CHECK(row.recorded);
    CHECK(row.smallest_memory - kMeasuredOverhead <= row.unlimited.peak.reserved);
    CHECK(row.smallest_memory - kMeasuredOverhead >= row.unlimited.peak_requested);
}

}  // namespace
}  // namespace tidemark
