// The peaks of each device are its own, not those of the sum.
#include "replay/metrics/devices.h"

#include <catch2/catch.hpp>

namespace tidemark {
namespace metrics {
MetricInfo devices();
}

namespace {

// What became of events on two devices, with the sums after each.
struct Played {
    std::vector<EventKind> kind;
    std::vector<std::uint16_t> device;
    std::vector<std::uint32_t> slot;
    std::vector<Usage> usage;
    std::vector<Bytes> requested;

    void add(EventKind what, std::uint16_t on, std::uint32_t of, Bytes reserved, Bytes allocated) {
        kind.push_back(what);
        device.push_back(on);
        slot.push_back(of);
        usage.push_back({.reserved = reserved, .allocated = allocated, .active = allocated});
        requested.push_back(allocated / 2);
    }

    std::vector<Measurement> measured(std::size_t devices) const {
        TraceInfo info;
        info.devices.resize(devices);
        info.slot_count = 8;
        const auto metric = metrics::devices().make(info);
        EventBatch batch{};
        batch.count = kind.size();
        batch.kind = kind.data();
        batch.device = device.data();
        batch.slot = slot.data();
        OutcomeBatch outcomes;
        outcomes.usage = usage.data();
        outcomes.requested = requested.data();
        metric->on_events(batch, outcomes);
        return metric->results({});
    }
};

TEST_CASE("each device has its own peaks, at its own moment", "[metrics]") {
    Played played;
    played.add(EventKind::allocate, 0, 1, 100, 80);   // device 0: 100
    played.add(EventKind::allocate, 1, 2, 160, 120);  // device 1: 60
    played.add(EventKind::free, 1, 1, 60, 40);        // of device 0, told by 1
    played.add(EventKind::allocate, 1, 3, 150, 100);  // device 1: 150

    const std::vector<DevicePeaks> peaks = device_peaks(played.measured(2));

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
    Played played;
    played.add(EventKind::allocate, 0, 1, 100, 80);

    CHECK(played.measured(1).empty());
    const std::vector<Measurement> whole{
        {.name = "peak_reserved_bytes", .summary = "", .whole = 7}};
    const std::vector<DevicePeaks> peaks = device_peaks(whole);
    REQUIRE(peaks.size() == 1);
    CHECK(peaks[0].reserved == 7);
}

}  // namespace
}  // namespace tidemark
