// calibrate: what the calls of a device cost, measured on the device itself, as a profile that the
// simulator loads.
//
// Costs are taken from the device's own counters, which are also what a replay adds up to
// `driver_ns`: so a simulated replay and a real one speak of the same thing. How long a transfer
// keeps its stream busy is what one more of a batch adds to the time until all are done, on the
// device's clock: what reading the clock takes is in both times and cancels out. In the counters it
// stays, there and in a replay.
//
// Calls cost what they do in a program, not in a loop: operations and sizes come in random (seeded)
// order, among many live allocations and mappings, on memory that is new and on memory that was
// there before, with the processor's caches disturbed between two calls. On the simulator the
// result is the profile it runs on, up to points that it was not asked for.
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

// Measures `device`, which nobody else uses meanwhile, in less than a minute of its time. Takes at
// most half of the memory that is free, and gives everything back. Errors: what the device refuses
// for another reason than memory.
Result<Calibration> calibrate(Device& device, const CalibrateOptions& options);

}  // namespace tidemark
