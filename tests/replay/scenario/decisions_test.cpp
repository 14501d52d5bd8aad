// DecisionLog: the same decisions are the same lines wherever memory lies; another decision is
// another line.
#include "replay/scenario/decisions.h"

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "core/allocator/spec.h"
#include "replay/scenario/scenario.h"
#include "tests/support/policy.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

struct Logged {
    Run run;
    std::string lines;
};

Logged logged(const Trace& trace, const Scenario& scenario) {
    Logged result;
    RunListeners listeners;
    listeners.decisions = [&](std::string_view lines) { result.lines += lines; };
    Result<Run> run = tidemark::run(trace, scenario, listeners);
    INFO((run ? "" : to_text(run.error())));
    REQUIRE(run);
    result.run = std::move(*run);
    REQUIRE(result.run.decisions);
    return result;
}

VectorTrace small_trace() {
    return TraceBuilder().allocate(0, 1000).allocate(1, 3_MiB).free(0).allocate(2, 600).build();
}

}  // namespace

TEST_CASE("each call that takes or gives memory, each grant and each refusal is a line") {
    const Logged log = logged(small_trace(), {.policy = "torch", .memory = 1_GiB, .overhead = 0});
    CHECK(log.lines ==
          "0 0 malloc 2097152 -> p1\n"
          "0 0 grant 1000 0 -> p1 (1024)\n"
          "1 0 malloc 20971520 -> p2\n"
          "1 0 grant 3145728 0 -> p2 (3145728)\n"
          "3 0 grant 600 0 -> p1 (1024)\n");
    CHECK(log.run.decisions->count == 5);

    const Logged refused =
        logged(small_trace(), {.policy = "cuda-malloc", .memory = 2_MiB, .overhead = 0});
    CHECK(refused.lines.find("1 0 malloc 3145728 -> out of memory\n"
                             "1 0 refuse 3145728 0: device full\n") != std::string::npos);
}

TEST_CASE("handles, mappings and reservations are told by ordinal and offset") {
    std::string lines;
    DecisionLog kept([&](std::string_view more) { lines += more; });
    SimDevice sim({.capacity = 1_GiB});
    DecisionDevice device(sim, 1, kept);
    kept.set_event(7);
    const Range room = *device.reserve(64_MiB);
    const PhysicalId first = *device.create({}, 2_MiB);
    const PhysicalId second = *device.create({}, 2_MiB);
    REQUIRE(device.map({room.begin + 2_MiB, 2_MiB}, second));
    REQUIRE(device.set_access({room.begin + 2_MiB, 2_MiB}, true));
    REQUIRE_FALSE(device.map({room.begin + 2_MiB, 2_MiB}, first));
    const EventId event = *device.record(StreamId{4});
    REQUIRE(device.complete(event));
    REQUIRE(device.wait(StreamId{2}, event));
    REQUIRE(device.unmap({room.begin + 2_MiB, 2_MiB}));
    REQUIRE(device.release(second));
    REQUIRE(device.release(first));
    REQUIRE(device.unreserve(room));
    CHECK(device.position(room.begin) == "nowhere");
    kept.end();
    CHECK(lines ==
          "7 1 reserve 67108864 -> v1\n"
          "7 1 create 2097152 -> h1\n"
          "7 1 create 2097152 -> h2\n"
          "7 1 map v1+2097152 2097152 h2\n"
          "7 1 set_access v1+2097152 2097152 write\n"
          "7 1 map v1+2097152 2097152 h1 -> invalid value\n"
          "7 1 record 4 -> e1\n"
          "7 1 complete e1 -> yes\n"
          "7 1 wait 2 e1\n"
          "7 1 unmap v1+2097152 2097152\n"
          "7 1 release h2\n"
          "7 1 release h1\n"
          "7 1 unreserve v1 67108864\n");
}

TEST_CASE("where memory lies does not show, what was decided does") {
    // The same program on devices that put plain memory elsewhere.
    const auto hash_on = [](const SimConfig& config, Bytes size, Bytes shift) {
        SimDevice sim(config);
        if (shift != 0)
            REQUIRE(sim.malloc(shift));
        DecisionLog log({});
        DecisionDevice device(sim, 0, log);
        const PolicySpec spec = *parse_policy("best-fit");
        auto inner = spec.make(device);
        REQUIRE(inner);
        DecisionAllocator allocator(std::move(*inner), device);
        std::vector<Allocation> live;
        for (Bytes i = 0; i < 20; ++i) {
            log.set_event(i);
            const auto granted = allocator.allocate({.size = size * (i % 5 + 1)});
            REQUIRE(granted);
            live.push_back(*granted);
        }
        for (const Allocation& each : live)
            allocator.deallocate(each, {});
        allocator.trim(TrimLevel::all);
        return log.hash();
    };
    const SimConfig slots{.capacity = 4_GiB};
    const SimConfig driver{.capacity = 4_GiB, .placement = Placement::driver};
    CHECK(hash_on(slots, 1_MiB, 0) == hash_on(slots, 1_MiB, 64_MiB));
    CHECK(hash_on(driver, 1_MiB, 0) == hash_on(driver, 1_MiB, 512));
    CHECK(hash_on(slots, 1_MiB, 0) != hash_on(slots, 1_MiB + 512, 0));
}

TEST_CASE("a run without listeners writes no decisions down") {
    const Result<Run> run =
        tidemark::run(small_trace(), {.policy = "torch", .memory = 1_GiB, .overhead = 0});
    REQUIRE(run);
    CHECK_FALSE(run->decisions);
    CHECK_FALSE(run->touch);
    CHECK_FALSE(run->device_memory);
}

TEST_CASE("touching and checking change no decision") {
    TraceBuilder builder;
    for (std::uint32_t i = 0; i < 400; ++i) {
        const std::uint32_t slot = i % 37;
        if (i >= 37)
            builder.free(slot);
        builder.allocate(slot, 1 + (i * 7919U) % 5'000'000, 0, i % 3);
    }
    const VectorTrace trace = builder.build();
    for (const PolicyInfo& policy : support::general_policies()) {
        INFO(policy.name);
        const std::string name(policy.name);
        const Logged bare = logged(trace, {.policy = name, .memory = 4_GiB, .overhead = 0});
        const Logged touched =
            logged(trace, {.policy = name, .memory = 4_GiB, .overhead = 0, .touch = true});
        const Logged checked = logged(
            trace, {.policy = name, .memory = 4_GiB, .overhead = 0, .check = true, .touch = true});
        CHECK(bare.run.decisions->count > 0);
        CHECK(bare.lines == touched.lines);
        CHECK(bare.run.decisions->hash == touched.run.decisions->hash);
        CHECK(bare.lines == checked.lines);
        REQUIRE(touched.run.touch);
        CHECK(touched.run.touch->clean());
        CHECK(touched.run.touch->allocations == 400);
        CHECK(checked.run.hazard_count == 0);
    }
}
