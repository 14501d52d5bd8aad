// A replay over tiers on a device: real copies of real bytes, on the simulator with host memory of
// the process's own, by the decisions that the virtual machine makes.
#include "replay/analysis/tiers/device_tiers.h"

#include <catch2/catch.hpp>

#include "backends/machines/machine_json.h"
#include "tests/support/device.h"
#include "tests/support/real_host_device.h"
#include "traces/open.h"

using namespace tidemark;

namespace {

struct Both {
    TierRun predicted;
    TierRun real;
};

Both both(const std::string& path, double share, const std::string& spill) {
    const auto trace = open_trace(path);
    REQUIRE(trace);
    const auto program = make_tier_program(**trace);
    REQUIRE(program);
    MachineSpec machine = *open_machine("h200-node");
    TierScenario scenario;
    scenario.gpu_fraction = share;
    scenario.spill = spill;
    SimConfig config;
    config.backed = true;
    config.capacity = 1_GiB;
    SimDevice sim(config);
    support::RealHostDevice device(sim);
    Both runs;
    const auto predicted = run_tiers(*program, machine, scenario);
    REQUIRE(predicted);
    runs.predicted = *predicted;
    const auto real = run_tiers_on_device(*program, machine, scenario, *predicted, device);
    INFO((real ? "" : to_text(real.error())));
    REQUIRE(real);
    runs.real = *real;
    CHECK(device.memory().free == device.memory().total);
    return runs;
}

}  // namespace

TEST_CASE("on a device the content is right and the bytes are those predicted", "[tiers][device]") {
    const char* const path =
        "generate:training:events=400,layers=4,hidden=128,batch=1,sequence=128,vocabulary=1024";
    for (const char* spill : {"lru", "largest"}) {
        const Both runs = both(path, 0.5, spill);
        INFO(spill);
        CHECK(runs.real.wrong_bytes == 0);
        CHECK(runs.real.out_of_memory == 0);
        CHECK(runs.real.spilled_bytes > 0);
        CHECK(runs.real.kernels == runs.predicted.kernels);
        CHECK(runs.real.used_bytes == runs.predicted.used_bytes);
    }
}

TEST_CASE("a machine without a host has nowhere to spill to", "[tiers][device]") {
    const auto trace = open_trace("generate:training:events=100");
    REQUIRE(trace);
    const auto program = make_tier_program(**trace);
    REQUIRE(program);
    MachineSpec machine;
    machine.name = "bare";
    SpaceSpec gpu;
    gpu.capacity = 1_GiB;
    machine.spaces.push_back(gpu);
    SimDevice sim{SimConfig{}};
    support::RealHostDevice device(sim);
    const auto run = run_tiers_on_device(*program, machine, {}, {}, device);
    REQUIRE_FALSE(run);
    CHECK(run.error().code == ErrorCode::bad_option);
}
