// calibrate: measures on a device what its calls cost, and makes a profile that the simulator
// loads.
//
// Costs are taken from the device's own counters, which are also what a replay adds up to
// `driver_ns`: so a simulated replay and a real one measure the same thing. How long a transfer
// keeps its stream busy is the time that one more transfer in a batch adds until all are done, on
// the device's clock: the time to read the clock is in both times and cancels out. It stays in the
// counters, there and in a replay.
//
// It measures what calls cost in a program, not in a loop: operations and sizes come in random
// (seeded) order, among many live allocations and mappings, on new memory and on memory that
// existed before, with the processor's caches disturbed between two calls. On the simulator the
// result is the profile it runs on, except for points that were not measured.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/sim/profile_text.h"
#include "core/base/result.h"
#include "core/device/device.h"

namespace tidemark {

struct CalibrateOptions {
    std::string name = "calibrated";  // of the profile
    std::string device = {};          // the product, for people; "" = the device's own name
    bool quick = false;               // a fifth of the time, without the largest sizes
    std::uint64_t seed = 1;
    std::function<void(double share)> progress = {};  // now and then; may be empty
};

struct Calibration {
    CostProfile profile;
    ProfileNotes notes;
    std::vector<std::string> skipped;  // sentences: what the device had no room for, or no call
    Nanoseconds clock_cost = 0;        // of reading the device's clock once
    Nanoseconds elapsed = 0;           // on the device's clock
};

// Measures `device`, which nobody else uses meanwhile, in less than a minute of its time. Uses at
// most half of the free memory, and frees everything. Errors: calls that the device refuses for a
// reason other than memory.
Result<Calibration> calibrate(Device& device, const CalibrateOptions& options);

}  // namespace tidemark
