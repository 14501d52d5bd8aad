// The peaks of each device of a run, out of its measurements (devices.cpp): the other figures are
// sums over all devices, and a card's memory limits each.
#pragma once

#include <span>
#include <vector>

#include "replay/metrics/metric.h"

namespace tidemark {

// Each of the figures at its own maximum, not of one moment.
struct DevicePeaks {
    Bytes reserved = 0;
    Bytes allocated = 0;
    Bytes active = 0;
    Bytes requested = 0;
    std::uint64_t event = 0;  // the first at which `reserved` was reached
};

// By device index; one device: from the figures of the whole run. O(measurements).
std::vector<DevicePeaks> device_peaks(std::span<const Measurement> measurements);

// Whether it is a figure of one of several devices: "device_1_peak_reserved_bytes".
bool is_of_device(const Measurement& measurement);

namespace metrics {

// The catalogue's entry, for who wants these figures alone.
MetricInfo devices();

}  // namespace metrics
}  // namespace tidemark
