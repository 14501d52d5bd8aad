// calibrate: on the simulator it finds the profile that the simulator runs on; what it writes is
// read back; what a device lacks or has no room for is skipped and said.
#include "replay/analysis/calibrate/calibrate.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/faulty.h"
#include "replay/analysis/calibrate/calibrate_units.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;

namespace {

Calibration calibrated(Device& device, const CalibrateOptions& options = {}) {
    Result<Calibration> calibration = calibrate(device, options);
    INFO((calibration ? "" : to_text(calibration.error())));
    REQUIRE(calibration);
    return std::move(*calibration);
}

// Within 1 %, or a nanosecond.
void check_near(const CostCurve& found, const CostCurve& expected, Bytes bytes) {
    INFO("at " << bytes << " bytes");
    CHECK(static_cast<double>(found.at(bytes)) ==
          Approx(static_cast<double>(expected.at(bytes))).epsilon(0.01).margin(1));
}

const CostCurve& curve_of(const CostProfile& profile, DeviceCall call) {
    return profile.calls[static_cast<std::size_t>(call)];
}

// Sizes at which the simulator can be asked what a call costs.
std::vector<Bytes> sizes_of(DeviceCall call) {
    switch (call) {
        case DeviceCall::trim_pool:  // whole segments of the pool
            return {0, 32_MiB, 64_MiB, 96_MiB, 256_MiB, 1_GiB, 3_GiB};
        case DeviceCall::create:
        case DeviceCall::release:
        case DeviceCall::map:
        case DeviceCall::unmap:
        case DeviceCall::set_access:
            return {2_MiB, 4_MiB, 20_MiB, 30_MiB, 64_MiB, 256_MiB, 700_MiB, 1_GiB};
        case DeviceCall::reserve:
        case DeviceCall::unreserve:
            return {2_MiB, 1_GiB, 500_GiB, 1024_GiB, 2048_GiB, 8192_GiB};
        default:
            return {1,      512,     10'000,  64_KiB, 1_MiB, 2_MiB - 512, 2_MiB, 3_MiB,
                    20_MiB, 100_MiB, 256_MiB, 1_GiB,  2_GiB, 4_GiB,       10_GiB};
    }
}

}  // namespace

TEST_CASE("calibrating the simulated H200 gives the H200's profile back within 1 %",
          "[one-thread]") {
    const CostProfile expected = *load_profile("h200");
    SimDevice device({.profile = &expected});
    const MemoryInfo before = device.memory();
    const Calibration calibration = calibrated(device);
    const CostProfile& found = calibration.profile;

    CHECK(calibration.skipped.empty());
    CHECK(found.memory == expected.memory);
    CHECK(found.granularity == expected.granularity);
    for (std::size_t i = 0; i <= static_cast<std::size_t>(DeviceCall::host_free); ++i) {
        const auto call = static_cast<DeviceCall>(i);
        INFO(to_text(call));
        for (const Bytes bytes : sizes_of(call))
            check_near(curve_of(found, call), curve_of(expected, call), bytes);
    }
    for (std::size_t i = 0; i < expected.transfers.size(); ++i) {
        INFO(to_text(static_cast<Transfer>(i)));
        for (const Bytes bytes : {64_KiB, 1_MiB, 10_MiB, 64_MiB, 500_MiB, 1_GiB, 4_GiB})
            check_near(found.transfers[i], expected.transfers[i], bytes);
    }
    for (const Bytes bytes : {32_MiB, 64_MiB, 512_MiB, 1_GiB, 4_GiB})
        check_near(found.pool_growth, expected.pool_growth, bytes);
    CHECK(static_cast<double>(found.pool_creation) ==
          Approx(static_cast<double>(expected.pool_creation)).epsilon(0.01));

    CHECK(device.memory().free == before.free);
    CHECK(calibration.elapsed < 60'000'000'000);
    CHECK(calibration.clock_cost == 0);
}

TEST_CASE("what a new page costs small plain memory is found beside the price of a piece",
          "[one-thread]") {
    CostProfile profile = *load_profile("h200");
    profile.page_open = 40'000;
    profile.page_close = 30'000;
    SimDevice device({.profile = &profile});
    const CostProfile found = calibrated(device).profile;
    CHECK(static_cast<double>(found.page_open) == Approx(40'000).epsilon(0.01));
    CHECK(static_cast<double>(found.page_close) == Approx(30'000).epsilon(0.01));
    for (const Bytes bytes : {512_KiB / 1024, 64_KiB, 1_MiB, 2_MiB, 20_MiB}) {
        check_near(curve_of(found, DeviceCall::malloc), curve_of(profile, DeviceCall::malloc),
                   bytes);
        check_near(curve_of(found, DeviceCall::free), curve_of(profile, DeviceCall::free), bytes);
    }
}

TEST_CASE("the largest page is found by where the driver puts its multiples", "[one-thread]") {
    CostProfile profile = *load_profile("h200");
    for (const Bytes largest : {512_MiB, 32_MiB}) {
        profile.largest_page = largest;
        SimDevice device({.profile = &profile, .placement = Placement::driver});
        CHECK(calibrated(device, {.quick = true}).profile.largest_page == largest);
        CHECK(device.memory().free == device.memory().total);
    }
}

TEST_CASE("each mapping of a range may cost other than the first, and that is found too",
          "[one-thread]") {
    CostProfile profile = *load_profile("h200");
    const CostPoint less[] = {{2_MiB, 3000}, {1_GiB, 20'000}};
    profile.further[static_cast<std::size_t>(DeviceCall::set_access)] = CostCurve(less);
    SimDevice device({.profile = &profile});
    const CostProfile found = calibrated(device, {.quick = true}).profile;
    const auto& further = found.further[static_cast<std::size_t>(DeviceCall::set_access)];
    REQUIRE(further);
    for (const Bytes bytes : {2_MiB, 20_MiB, 256_MiB, 1_GiB})
        check_near(*further, CostCurve(less), bytes);
    const auto& unmap = found.further[static_cast<std::size_t>(DeviceCall::unmap)];
    REQUIRE(unmap);
    check_near(*unmap, curve_of(profile, DeviceCall::unmap), 20_MiB);
}

TEST_CASE("a profile that was written is read as the same profile", "[one-thread]") {
    const CostProfile h200 = *load_profile("h200");
    SimDevice device({.profile = &h200});
    const Calibration calibration = calibrated(device, {.name = "my \"card\"", .quick = true});
    const std::string text = profile_text(calibration.profile, calibration.notes);
    const Result<CostProfile> read = parse_profile(text, "my-card.json");
    INFO((read ? "" : to_text(read.error())));
    REQUIRE(read);
    CHECK(read->hash() == calibration.profile.hash());
    CHECK(read->name == "my \"card\"");
    CHECK(read->device == "sim:h200");
    CHECK(profile_text(*read, calibration.notes) == text);
    // The shipped one too.
    const Result<CostProfile> again = parse_profile(profile_text(h200, {}), "h200");
    REQUIRE(again);
    CHECK(again->hash() == h200.hash());
}

TEST_CASE("the same seed gives the same calibration on the simulator", "[one-thread]") {
    const CostProfile h200 = *load_profile("h200");
    const auto text = [&] {
        SimDevice device({.profile = &h200});
        const Calibration calibration = calibrated(device, {.quick = true});
        return profile_text(calibration.profile, calibration.notes);
    };
    CHECK(text() == text());
}

TEST_CASE("a small device is asked for no more than half of what it has free") {
    const CostProfile h200 = *load_profile("h200");
    SimDevice sim({.capacity = 600_MiB, .profile = &h200});
    // Refuses the 300 MiB that calibrate must leave alone.
    REQUIRE(sim.create({}, 2_MiB));
    const Calibration calibration = calibrated(sim, {.quick = true});
    CHECK(calibration.skipped.empty());
    Bytes largest = 0;
    for (const MeasuredCost& row : calibration.notes.measured)
        if (row.operation == "malloc")
            largest = std::max(largest, row.bytes);
    CHECK(largest == 20_MiB);  // six at a time
    CHECK(sim.memory().free == 598_MiB);
}

TEST_CASE("what the device has no room for is skipped and told, and nothing is left behind",
          "[one-thread]") {
    const CostProfile h200 = *load_profile("h200");
    SimDevice sim({.profile = &h200, .host_capacity = 100_MiB});
    const MemoryInfo before = sim.memory();
    const Calibration calibration = calibrated(sim, {.quick = true});
    REQUIRE_FALSE(calibration.skipped.empty());
    CHECK(std::any_of(calibration.skipped.begin(), calibration.skipped.end(),
                      [](const std::string& what) {
                          return what.find("host memory of 128 MiB") != std::string::npos &&
                                 what.find("out of memory") != std::string::npos;
                      }));
    CHECK(sim.memory().free == before.free);
    CHECK(calibration.profile.cost(DeviceCall::host_malloc, 1_MiB) > 0);
}

TEST_CASE("a quick calibration takes a fifth of the time", "[one-thread]") {
    const CostProfile h200 = *load_profile("h200");
    SimDevice device({.profile = &h200});
    const Calibration whole = calibrated(device);
    SimDevice second({.profile = &h200});
    std::vector<double> shares;
    const Calibration quick = calibrated(
        second, {.quick = true, .progress = [&](double share) { shares.push_back(share); }});
    CHECK(quick.elapsed < whole.elapsed / 2);
    CHECK(std::is_sorted(shares.begin(), shares.end()));
    REQUIRE_FALSE(shares.empty());
    CHECK(shares.back() == 1);
}

TEST_CASE("spreads are quantiles, and the price is the mean without outliers") {
    Samples samples;
    for (Nanoseconds i = 1; i <= 100; ++i)
        samples.add({"malloc", "", 512}, i);
    samples.add({"malloc", "", 1024}, 7);
    const std::vector<MeasuredCost> rows = samples.summary();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].count == 100);
    CHECK(rows[0].p10 == 10);
    CHECK(rows[0].median == 50);
    CHECK(rows[0].p90 == 90);
    CHECK(rows[0].mean == 51);  // 50.5
    CHECK(rows[1].p10 == 7);
    CHECK(rows[1].mean == 7);
}
