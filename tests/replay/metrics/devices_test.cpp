// The peaks of each device are its own, not those of the sum.
#include "replay/metrics/devices.h"

#include <catch2/catch.hpp>

#include "tests/replay/metrics/batches.h"

namespace tidemark {
namespace {

using support::Step;

Step step(EventKind kind, std::uint16_t device, std::uint32_t slot, Bytes reserved,
          Bytes allocated) {
    return {.reserved = reserved,
            .allocated = allocated,
            .active = allocated,
            .requested = allocated / 2,
            .kind = kind,
            .device = device,
            .slot = slot};
}

std::vector<Measurement> measured(const std::vector<Step>& steps, std::size_t devices) {
    TraceInfo info;
    info.devices.resize(devices);
    info.slot_count = 8;
    const auto metric = metrics::devices().make(info);
    support::show(*metric, steps, steps.size());
    return metric->results({});
}

TEST_CASE("each device has its own peaks, at its own moment", "[metrics]") {
    const std::vector<Step> steps{
        step(EventKind::allocate, 0, 1, 100, 80),   // device 0: 100
        step(EventKind::allocate, 1, 2, 160, 120),  // device 1: 60
        step(EventKind::free, 1, 1, 60, 40),        // of device 0, though it names 1
        step(EventKind::allocate, 1, 3, 150, 100),  // device 1: 150
    };

    const std::vector<DevicePeaks> peaks = device_peaks(measured(steps, 2));

    REQUIRE(peaks.size() == 2);
    CHECK(peaks[0].reserved == 100);
    CHECK(peaks[0].allocated == 80);
    CHECK(peaks[0].requested == 40);
    CHECK(peaks[0].event == 0);
    CHECK(peaks[1].reserved == 150);
    CHECK(peaks[1].allocated == 100);
    CHECK(peaks[1].requested == 50);
    CHECK(peaks[1].event == 3);
}

TEST_CASE("one device has no figures beside those of the run", "[metrics]") {
    CHECK(measured({step(EventKind::allocate, 0, 1, 100, 80)}, 1).empty());
    const std::vector<Measurement> whole{
        {.name = "peak_reserved_bytes", .summary = "", .whole = 7}};
    const std::vector<DevicePeaks> peaks = device_peaks(whole);
    REQUIRE(peaks.size() == 1);
    CHECK(peaks[0].reserved == 7);
}

}  // namespace
}  // namespace tidemark
