// Links of simulated devices: what their profile says must come out.
#include "backends/machines/measure_gpu_links.h"

#include <array>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/faulty.h"
#include "tests/backends/machines/half_duplex.h"
#include "tests/backends/machines/known_links.h"

using namespace tidemark;

namespace {

struct KnownDevice {
    explicit KnownDevice(Bytes capacity = 16_GiB, Bytes host = 64_GiB)
        : profile(support::known_links()),
          sim({.capacity = capacity, .profile = &profile, .host_capacity = host}) {}

    CostProfile profile;
    SimDevice sim;
};

}  // namespace

TEST_CASE("A device's links come out as its profile has them", "[machine][measure][gpu]") {
    KnownDevice device;
    const Bytes free = device.sim.memory().free;

    const Result<GpuLinkFigures> figures = measure_gpu_links(device.sim, {});

    REQUIRE(figures);
    CHECK(figures->to_host.bytes_per_second.median == Approx(50e9).epsilon(1e-4));
    CHECK(figures->from_host.bytes_per_second.median == Approx(40e9).epsilon(1e-4));
    for (const LinkFigures& link : {figures->to_host, figures->from_host}) {
        CHECK(link.overhead.median == Approx(2000).margin(2));
        CHECK(link.latency.median == Approx(2000).margin(5));
        CHECK(link.bytes_per_second.runs == 9);
        CHECK(link.bytes_per_second.spread() < 1e-6);
    }
    CHECK(figures->both.median == Approx(90e9).epsilon(1e-3));  // independent
    CHECK(figures->more == 1_GiB);
    CHECK(figures->less == 64_MiB);
    CHECK(device.sim.memory().free == free);
}

TEST_CASE("A device whose directions share a way gets less for both", "[machine][measure][gpu]") {
    KnownDevice device;
    support::HalfDuplex half(device.sim);

    const Result<GpuLinkFigures> figures = measure_gpu_links(half, {});

    REQUIRE(figures);
    CHECK(figures->to_host.bytes_per_second.median == Approx(50e9).epsilon(1e-4));
    // 50 bytes out take a nanosecond and 40 in another.
    CHECK(figures->both.median == Approx(45e9).epsilon(1e-3));
}

TEST_CASE("Smaller copies are made where memory is short", "[machine][measure][gpu]") {
    KnownDevice small(512_MiB);
    const Result<GpuLinkFigures> figures = measure_gpu_links(small.sim, {.runs = 1});
    REQUIRE(figures);
    CHECK(figures->more == 64_MiB);  // two of an eighth
    CHECK(figures->to_host.bytes_per_second.median == Approx(50e9).epsilon(1e-3));

    KnownDevice short_of_host(16_GiB, 100_MiB);
    const Result<GpuLinkFigures> less = measure_gpu_links(short_of_host.sim, {.runs = 1});
    REQUIRE(less);
    CHECK(less->more == 32_MiB);

    KnownDevice none(16_GiB, 1_MiB);
    const Result<GpuLinkFigures> refused = measure_gpu_links(none.sim, {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::no_space);
    CHECK(none.sim.memory().free == 16_GiB);
}

TEST_CASE("A device that fails is told, and gets its memory back", "[machine][measure][gpu]") {
    KnownDevice device;
    FaultyDevice faulty(device.sim,
                        {.nth = 50, .call = DeviceCall::copy, .status = DeviceStatus::fault});

    const Result<GpuLinkFigures> figures = measure_gpu_links(faulty, {});

    REQUIRE_FALSE(figures);
    CHECK(device.sim.memory().free == 16_GiB);
}

TEST_CASE("A measurement keeps to its time, and stops when it is asked to",
          "[machine][measure][gpu]") {
    KnownDevice device;
    const Result<GpuLinkFigures> one = measure_gpu_links(device.sim, {.budget = 1});
    REQUIRE(one);
    CHECK(one->both.runs == 1);

    std::vector<double> shares;
    unsigned calls = 0;
    const MeasuringLimits limits{.runs = 4,
                                 .stop = [&calls] { return ++calls > 7; },
                                 .progress = [&shares](double share) { shares.push_back(share); }};
    const Result<GpuLinkFigures> stopped = measure_gpu_links(device.sim, limits);
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error().code == ErrorCode::cancelled);
    CHECK(shares == std::vector<double>{0.25});
    CHECK(device.sim.memory().free == 16_GiB);
}

TEST_CASE("A device without a clock for its copies is told, not divided by",
          "[machine][measure][gpu]") {
    SimDevice free_of_cost({.capacity = 16_GiB});

    const Result<GpuLinkFigures> figures = measure_gpu_links(free_of_cost, {.runs = 2});

    REQUIRE_FALSE(figures);
    CHECK(figures.error().code == ErrorCode::bad_input);
    CHECK(figures.error().what == "1.00 GiB took no longer than 64.0 MiB");
}
