// run: a scenario becomes the right policy on the right device, and comes back with every default
// written out.
#include "replay/scenario/scenario.h"

#include <catch2/catch.hpp>

#include "backends/sim/costs.h"
#include "tests/support/policy.h"
#include "tests/support/vector_trace.h"

namespace tidemark {
namespace {

using support::TraceBuilder;
using support::VectorTrace;

VectorTrace two_of(Bytes size, TraceInfo info = {}) {
    return TraceBuilder().allocate(0, size).allocate(1, size).free(0).free(1).build(
        std::move(info));
}

Run must_run(const Trace& trace, const Scenario& scenario) {
    Result<Run> result = run(trace, scenario);
    INFO((result ? "" : to_text(result.error())));
    REQUIRE(result);
    return std::move(*result);
}

std::uint64_t figure(const Run& run, std::string_view name) {
    return run.measurement(name).whole;
}

TEST_CASE("a run reports what its policy did on its device", "[scenario]") {
    const VectorTrace trace = two_of(10_MiB);
    const Run run =
        must_run(trace, {.trace = "two", .policy = "cuda-malloc", .memory = 1_GiB, .overhead = 0});

    CHECK(run.summary.events == 4);
    CHECK(run.summary.refused == 0);
    CHECK(figure(run, "peak_reserved_bytes") == 20_MiB);
    CHECK(figure(run, "peak_requested_bytes") == 20_MiB);
    CHECK(figure(run, "calls_malloc") == 2);
    CHECK(figure(run, "calls_free") == 2);
    CHECK(figure(run, "end_reserved_bytes") == 0);
    CHECK(figure(run, "driver_ns") > 0);
    CHECK(run.timeline.buckets.size() == 4);
    CHECK(run.trace_hash == trace.hash());
    CHECK(run.profile_hash == load_profile("h200")->hash());
}

TEST_CASE("a run's scenario has every default written out", "[scenario]") {
    const Run run = must_run(two_of(1_MiB), {.trace = "two", .policy = "best-fit"});
    CHECK(run.policy_name == "best-fit");
    CHECK(run.scenario.policy == "best-fit");
    CHECK(run.scenario.trace == "two");
    CHECK(run.scenario.memory == load_profile("h200")->memory);
    CHECK(run.policy_options.size() == (*find_policy("best-fit"))->options.size());
}

TEST_CASE("a run's scenario can be run again and gives the same", "[scenario]") {
    const VectorTrace trace = two_of(30_MiB);
    const Run first = must_run(trace, {.policy = "torch", .limit = 50_MiB});
    const Run second = must_run(trace, first.scenario);
    CHECK(first.scenario.policy == second.scenario.policy);
    REQUIRE(first.measurements.size() == second.measurements.size());
    for (std::size_t i = 0; i < first.measurements.size(); ++i)
        CHECK(first.measurements[i].value() == second.measurements[i].value());
}

TEST_CASE("the device has as much memory as the trace says it had", "[scenario]") {
    TraceInfo info;
    info.devices.push_back({"small", 15_MiB});
    const VectorTrace trace = two_of(10_MiB, info);
    const Run run = must_run(trace, {.policy = "cuda-malloc"});
    CHECK(run.scenario.memory == 15_MiB);
    CHECK(figure(run, "out_of_memory") == 1);
    REQUIRE(run.refusals.size() == 1);
    CHECK(run.refusals[0].event == 1);

    const Run larger = must_run(trace, {.policy = "cuda-malloc", .memory = 1_GiB, .overhead = 0});
    CHECK(figure(larger, "out_of_memory") == 0);
}

TEST_CASE("a limit holds for every policy, whether it takes one or not", "[scenario]") {
    const VectorTrace trace = two_of(30_MiB);
    for (const PolicyInfo& policy : support::general_policies()) {
        INFO(policy.name);
        const Run free =
            must_run(trace, {.policy = std::string(policy.name), .memory = 1_GiB, .overhead = 0});
        CHECK(figure(free, "out_of_memory") == 0);
        const Run run = must_run(
            trace,
            {.policy = std::string(policy.name), .memory = 1_GiB, .overhead = 0, .limit = 50_MiB});
        CHECK(figure(run, "out_of_memory") >= 1);
        CHECK(figure(run, "peak_reserved_bytes") <= 50_MiB);
    }
}

TEST_CASE("a limit given twice is an error unless it is the same", "[scenario]") {
    const VectorTrace trace = two_of(1_MiB);
    CHECK(run(trace, {.policy = "torch:limit=1GiB", .limit = 1_GiB}));
    const auto refused = run(trace, {.policy = "torch:limit=1GiB", .limit = 2_GiB});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::bad_option);
}

TEST_CASE("each device of a trace has a device and an allocator of its own", "[scenario]") {
    TraceInfo info;
    info.devices.resize(2);
    const VectorTrace trace = TraceBuilder()
                                  .add({.size = 10_MiB, .slot = 0, .device = 0})
                                  .add({.size = 10_MiB, .slot = 1, .device = 1})
                                  .build(info);
    const Run run = must_run(trace, {.policy = "cuda-malloc", .memory = 15_MiB, .overhead = 0});
    CHECK(figure(run, "out_of_memory") == 0);
    CHECK(figure(run, "peak_reserved_bytes") == 20_MiB);
}

TEST_CASE("a run stops at the first refusal when asked to", "[scenario]") {
    const VectorTrace trace = two_of(10_MiB);
    const Run run = must_run(
        trace, {.policy = "cuda-malloc", .memory = 15_MiB, .overhead = 0, .stop_at_refusal = true});
    CHECK(run.summary.events == 2);
}

TEST_CASE("a run without a policy takes the recorded one with its settings", "[scenario]") {
    TraceInfo info;
    info.format = "torch-snapshot";
    info.settings = {{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128"},
                     {"max_split_size", "134217728"},
                     {"garbage_collection_threshold", "0.0"},
                     {"expandable_segments", "False"}};
    const Run run = must_run(two_of(1_MiB, info), {.memory = 1_GiB, .overhead = 0});
    CHECK(run.policy_name == "torch");
    CHECK(run.scenario.policy == "torch:max_split_size_mb=128");
    CHECK(run.warnings.empty());
}

TEST_CASE("a checked run gives the same figures as an unchecked one", "[scenario]") {
    TraceBuilder builder;
    for (std::uint32_t i = 0; i < 30; ++i) {
        builder.allocate(i, (i % 7 + 1) * 1_MiB, 0, i % 2);
        if (i % 3 == 0)
            builder.add({.slot = i, .stream = StreamId{2}, .kind = EventKind::record_use});
        if (i % 2 == 1)
            builder.free(i - 1);
    }
    TraceInfo info;
    info.streams = {0, 100, 200};
    const VectorTrace some_left = builder.build(info);
    for (std::uint32_t i = 1; i < 30; i += 2)
        builder.free(i);
    const VectorTrace none_left = builder.build(info);
    for (const PolicyInfo& policy : all_policies()) {
        for (const VectorTrace* trace : {&some_left, &none_left}) {
            INFO(policy.name);
            const Run plain = must_run(*trace, {.policy = std::string(policy.name)});
            const Run checked =
                must_run(*trace, {.policy = std::string(policy.name), .check = true});
            INFO((checked.hazards.empty() ? "" : checked.hazards[0].what));
            CHECK(checked.hazard_count == 0);
            REQUIRE(plain.measurements.size() == checked.measurements.size());
            for (std::size_t i = 0; i < plain.measurements.size(); ++i) {
                INFO(plain.measurements[i].name);
                CHECK(plain.measurements[i].value() == checked.measurements[i].value());
            }
        }
    }
}

TEST_CASE("what cannot be run is an error that says why", "[scenario]") {
    const VectorTrace trace = two_of(1_MiB);
    const auto code = [&trace](const Scenario& scenario) {
        const auto result = run(trace, scenario);
        REQUIRE_FALSE(result);
        CHECK_FALSE(result.error().what.empty());
        return result.error().code;
    };
    CHECK(code({.policy = "torhc"}) == ErrorCode::bad_option);
    CHECK(code({.policy = "torch:no_such=1"}) == ErrorCode::bad_option);
    CHECK(code({.policy = "torch", .profile = "no-such-profile"}) == ErrorCode::not_found);
    CHECK(code({.policy = "torch", .memory = Bytes{1} << 60}) == ErrorCode::bad_option);
    CHECK(code({.policy = ""}) == ErrorCode::bad_option);
}

}  // namespace
}  // namespace tidemark
