// run_trial: the same figures as a whole scenario, on the memory that it is given.
#include "replay/scenario/trial.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "backends/sim/sim_device.h"
#include "core/base/random.h"
#include "replay/scenario/scenario.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

namespace tidemark {
namespace {

using support::TraceBuilder;
using support::VectorTrace;

TrialResult trial(const Trace& trace, std::string_view policy, TrialSetup setup = {}) {
    setup.policy = *parse_policy(policy);
    Result<TrialResult> result = run_trial(trace, setup);
    INFO((result ? "" : to_text(result.error())));
    REQUIRE(result);
    return std::move(*result);
}

// Freed memory that is too small for what comes next: a cache is worth nothing here.
VectorTrace growing() {
    return TraceBuilder().allocate(0, 30_MiB).free(0).allocate(1, 40_MiB).free(1).build();
}

TEST_CASE("a trial finds what a scenario finds", "[scenario][trial]") {
    const auto policy = GENERATE(as<std::string>{}, "torch", "torch:max_split_size_mb=64",
                                 "best-fit", "cuda-malloc");
    const Bytes limit = GENERATE(Bytes{0}, 6_GiB);
    const auto trace = open_trace(TIDEMARK_SOURCE_DIR "/traces/samples/torch/gpt2_var.pickle.xz");
    REQUIRE(trace);
    const CostProfile profile = *load_profile("h200");
    const Result<Run> run =
        tidemark::run(**trace, {.policy = policy, .memory = 140_GiB, .limit = limit});
    REQUIRE(run);

    const TrialResult quick =
        trial(**trace, policy, {.profile = &profile, .memory = 140_GiB, .limit = limit});

    CHECK(quick.peak.reserved == run->measurement("peak_reserved_bytes").whole);
    CHECK(quick.peak.allocated == run->measurement("peak_allocated_bytes").whole);
    CHECK(quick.peak_requested == run->measurement("peak_requested_bytes").whole);
    CHECK(quick.driver_time == static_cast<Nanoseconds>(run->measurement("driver_ns").whole));
    CHECK(quick.stall_time == static_cast<Nanoseconds>(run->measurement("stall_ns").whole));
    CHECK(quick.device_calls == run->measurement("device_calls").whole);
    CHECK(quick.stats.retries == run->measurement("retries").whole);
    CHECK(quick.refused == run->summary.refused);
    CHECK(quick.survived() == run->refusals.empty());
    if (!run->refusals.empty()) {
        REQUIRE(quick.first_refusal);
        CHECK(quick.first_refusal->event == run->refusals[0].event);
        CHECK(quick.first_refusal->largest_free == run->refusals[0].largest_free);
    }
}

TEST_CASE("a trial names the event at which most was reserved", "[scenario][trial]") {
    const VectorTrace trace =
        TraceBuilder().allocate(0, 10_MiB).allocate(1, 20_MiB).free(0).allocate(2, 2_MiB).build();

    const TrialResult result = trial(trace, "cuda-malloc");

    CHECK(result.peak.reserved == 30_MiB);
    CHECK(result.peak_event == 1);
    CHECK(result.peak_requested == 30_MiB);
    CHECK(result.events == 4);
}

TEST_CASE("memory in use by others isn't the policy's", "[scenario][trial]") {
    const VectorTrace trace = TraceBuilder().allocate(0, 40_MiB).free(0).build();

    CHECK(trial(trace, "torch", {.memory = 48_MiB, .overhead = 8_MiB}).survived());
    CHECK_FALSE(trial(trace, "torch", {.memory = 48_MiB, .overhead = 9_MiB}).survived());
    CHECK(trial(trace, "torch", {.memory = 48_MiB, .overhead = 8_MiB}).device_calls == 1);
    CHECK_FALSE(
        run_trial(trace, {.policy = *parse_policy("torch"), .memory = 8_MiB, .overhead = 8_MiB}));
}

TEST_CASE("a limit is kept by the policy, or else by the device", "[scenario][trial]") {
    const VectorTrace trace = TraceBuilder().allocate(0, 40_MiB).allocate(1, 40_MiB).build();
    const auto policy = GENERATE(as<std::string>{}, "torch", "cuda-malloc");

    CHECK(trial(trace, policy, {.limit = 80_MiB}).survived());
    const TrialResult refused = trial(trace, policy, {.limit = 79_MiB});

    REQUIRE(refused.first_refusal);
    CHECK(refused.refused == 1);
    CHECK(refused.first_refusal->event == 1);
    CHECK(refused.first_refusal->usage.reserved == 40_MiB);
    CHECK(refused.first_refusal->why.cause ==
          (policy == "torch" ? OutOfMemory::Cause::limit : OutOfMemory::Cause::device_full));
}

TEST_CASE("a trial may stop at the first refusal", "[scenario][trial]") {
    const VectorTrace trace =
        TraceBuilder().allocate(0, 40_MiB).allocate(1, 40_MiB).allocate(2, 40_MiB).free(0).build();

    const TrialResult stopped = trial(trace, "torch", {.memory = 64_MiB, .stop_at_refusal = true});
    const TrialResult whole = trial(trace, "torch", {.memory = 64_MiB});

    CHECK(stopped.refused == 1);
    CHECK(stopped.events == 2);
    CHECK(whole.refused == 2);
    CHECK(whole.events == 4);
    CHECK(stopped.first_refusal->event == whole.first_refusal->event);
}

TEST_CASE("the time of flushes is that of events that had to retry", "[scenario][trial]") {
    const VectorTrace trace = growing();
    const CostProfile profile = *load_profile("h200");

    const TrialResult roomy = trial(trace, "torch", {.profile = &profile, .time_flushes = true});
    const TrialResult tight =
        trial(trace, "torch", {.profile = &profile, .memory = 40_MiB, .time_flushes = true});

    CHECK(roomy.stats.retries == 0);
    CHECK(roomy.flush_time == 0);
    CHECK(tight.survived());
    CHECK(tight.stats.retries == 1);
    CHECK(tight.flush_time >= profile.cost(DeviceCall::free, 30_MiB));
    CHECK(tight.driver_time > roomy.driver_time);
    CHECK(trial(trace, "torch", {.profile = &profile, .memory = 40_MiB}).flush_time == 0);
}

TEST_CASE("each device of a trace has the memory of the setup", "[scenario][trial]") {
    TraceInfo info;
    info.devices.resize(2);
    const VectorTrace trace = TraceBuilder()
                                  .add({.size = 40_MiB, .slot = 0, .device = 0})
                                  .add({.size = 60_MiB, .slot = 1, .device = 1})
                                  .build(info);

    CHECK(trial(trace, "torch", {.memory = 60_MiB}).survived());
    CHECK(trial(trace, "torch", {.memory = 60_MiB}).peak.reserved == 100_MiB);
    const TrialResult refused = trial(trace, "torch", {.memory = 58_MiB});
    REQUIRE(refused.first_refusal);
    CHECK(refused.first_refusal->what.device == 1);
    CHECK(refused.first_refusal->usage.reserved == 0);
}

TEST_CASE("trials give the same on any number of threads, in order", "[scenario][trial]") {
    Random random(7);
    TraceBuilder builder;
    for (std::uint32_t i = 0; i < 3000; ++i) {
        const auto slot = static_cast<std::uint32_t>(random.below(50));
        builder.free(slot).allocate(slot, 1 + random.below(20_MiB));
    }
    const VectorTrace trace = builder.build();
    std::vector<TrialSetup> setups;
    for (Bytes memory = 1200_MiB; memory > 200_MiB; memory -= 40_MiB)
        setups.push_back(
            {.policy = *parse_policy("torch"), .memory = memory, .stop_at_refusal = true});
    const auto summary = [&](unsigned threads) {
        std::vector<std::size_t> progress;
        const auto results = run_trials(
            trace, setups, {.threads = threads, .progress = [&](std::size_t done, std::size_t) {
                                progress.push_back(done);
                            }});
        REQUIRE(results);
        CHECK(progress.size() == setups.size());
        std::string text;
        for (const TrialResult& result : *results)
            text += fmt::format("{} {} {};", result.events, result.peak.reserved, result.refused);
        return text;
    };

    const std::string alone = summary(1);

    CHECK(summary(4) == alone);
    CHECK(alone.find(" 1;") != std::string::npos);  // some died
    CHECK(alone.find(" 0;") != std::string::npos);  // some didn't
}

TEST_CASE("the first error of several trials is reported", "[scenario][trial]") {
    const VectorTrace trace = growing();
    std::vector<TrialSetup> setups(6, {.policy = *parse_policy("torch")});
    setups[2].policy = *parse_policy("torch:max_split_size_mb=3");
    setups[4].memory = SimDevice::kLargestCapacity * 2;

    const auto results = run_trials(trace, setups, {.threads = 3});

    REQUIRE_FALSE(results);
    CHECK(to_text(results.error()).find("max_split_size_mb") != std::string::npos);
}

TEST_CASE("a program that ended with a refusal died, if it is refused again", "[scenario][trial]") {
    const auto trace = [](bool goes_on) {
        TraceBuilder builder;
        builder.allocate(0, 40_MiB);
        builder.add({.size = 30_MiB, .kind = EventKind::out_of_memory});
        builder.add({.kind = EventKind::mark}).free(0);
        for (int i = 0; i < 5; ++i)
            builder.add({.kind = EventKind::mark});
        if (goes_on)
            builder.allocate(1, 10_MiB);
        return builder.build();
    };

    const TrialResult dead = trial(trace(false), "torch", {.memory = 64_MiB});
    CHECK(dead.ends_refused);
    CHECK_FALSE(dead.survived());
    CHECK(dead.refused == 0);
    CHECK(dead.refused_again == 1);
    REQUIRE(dead.first_refusal);
    CHECK(dead.first_refusal->event == 1);
    CHECK(dead.first_refusal->what.size == 30_MiB);

    const TrialResult caught = trial(trace(true), "torch", {.memory = 64_MiB});
    CHECK_FALSE(caught.ends_refused);
    CHECK(caught.survived());
    CHECK(caught.refused_again == 1);
    CHECK_FALSE(caught.first_refusal);

    const TrialResult roomy = trial(trace(false), "torch", {.memory = 70_MiB});
    CHECK(roomy.survived());
    CHECK(roomy.refused_again == 0);
}

TEST_CASE("a request that is newly refused comes before the recorded end", "[scenario][trial]") {
    const VectorTrace trace = TraceBuilder()
                                  .allocate(0, 40_MiB)
                                  .allocate(1, 40_MiB)
                                  .add({.size = 90_MiB, .kind = EventKind::out_of_memory})
                                  .build();

    const TrialResult result = trial(trace, "torch", {.memory = 64_MiB});

    CHECK(result.refused == 1);
    CHECK(result.refused_again == 1);
    CHECK(result.ends_refused);
    CHECK_FALSE(result.survived());
    REQUIRE(result.first_refusal);
    CHECK(result.first_refusal->event == 1);
}

TEST_CASE("graphs that share a pool use the memory of the one before", "[scenario][trial]") {
    TraceInfo info;
    info.pools = {"default", "(3, 0)", "(5, 0)", "(0, 1)"};
    std::vector<TraceEvent> events;
    for (const std::uint32_t pool : {1U, 2U, 3U}) {
        events.push_back({.size = 64_MiB, .slot = pool, .aux = pool});
        events.push_back({.slot = pool, .kind = EventKind::free});
    }
    // A pool that nobody uses again is given back; a shared one isn't.
    events.push_back({.aux = 1, .kind = EventKind::trim, .flags = kEndsPool});
    events.push_back({.size = 64_MiB, .slot = 0, .aux = 2});
    const VectorTrace trace(std::move(events), std::move(info));

    CHECK(graph_pools(trace.info()) == std::vector<std::uint32_t>{1, 2});
    CHECK(trial(trace, "torch").peak.reserved == 192_MiB);
    const TrialResult shared = trial(trace, "torch", {.one_graph_pool = true});
    CHECK(shared.peak.reserved == 128_MiB);  // the program's own pool stays its own
    CHECK(shared.refusals() == 0);
}

TEST_CASE("what is taken at the start serves what comes", "[scenario][trial]") {
    const VectorTrace trace =
        TraceBuilder().allocate(0, 40_MiB).free(0).allocate(0, 50_MiB).build();
    CHECK(trial(trace, "torch").peak.reserved == 90_MiB);
    CHECK(trial(trace, "torch", {.prime = 50_MiB}).peak.reserved == 50_MiB);
    CHECK(trial(trace, "torch", {.prime = 48_MiB}).peak.reserved == 98_MiB);
    CHECK(trial(trace, "torch", {.memory = 32_MiB, .prime = 48_MiB}).refusals() == 2);
}

}  // namespace
}  // namespace tidemark
