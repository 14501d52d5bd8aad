// The peaks of each device of a run, out of its measurements (devices.cpp): the other figures are
// sums over the GPUs, and a card's memory limits each.
#pragma once

#include <span>
#include <string>
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
    bool is_host = false;     // the host's memory, which is in no sum

    // "device 3"
    std::string text(std::size_t index) const;
};

// Those that sums are over, out of all.
std::size_t gpus_of(std::span<const DevicePeaks> devices);

// By device index; one device: from the figures of the whole run. O(measurements).
std::vector<DevicePeaks> device_peaks(std::span<const Measurement> measurements);

// Whether it is a figure of one of several devices: "device_1_peak_reserved_bytes".
bool is_of_device(const Measurement& measurement);

namespace metrics {

// The catalogue's entry, for who wants these figures alone.
MetricInfo devices();

}  // namespace metrics
}  // namespace tidemark
