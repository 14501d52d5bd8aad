// Units: the small programs that make up a calibration. Each makes calls of one kind at one size,
// leaves the device as it was, and runs many times, in random order with the others.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "replay/analysis/calibrate/calibrate_probe.h"

namespace tidemark {

// Operations without a call of that name: a transfer on its stream, whose state says which way; and
// calls on all mappings of a range at once.
constexpr std::string_view kTransfer = "transfer";
constexpr std::string_view kSetAccessOfRange = "set_access of a range";
constexpr std::string_view kUnmapOfRange = "unmap of a range";

struct CalibrationUnit {
    std::string name;   // for people: "malloc of 4 GiB"
    unsigned runs = 0;  // at most this many are worth their time
    std::function<DeviceResult<void>(Probe&, Random&)> run;
};

// So many handles of `size` are mapped, and made accessible in one call.
constexpr std::uint64_t mappings_in_range(Bytes size) {
    return size <= 64_MiB ? 16 : size <= 256_MiB ? 4 : 2;
}

// All that `device` can do and `memory` bytes have room for.
std::vector<CalibrationUnit> calibration_units(const Device& device, Bytes memory, bool quick);

// The first call of its pool, which creates it: run once, before all units.
DeviceResult<void> measure_pool_creation(Probe& probe);

}  // namespace tidemark
