// The allocations of a trace as intervals: from the event that made one to the event from which its
// memory could be used again, which is the device's end of it where the trace says that.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/bound/packing.h"
#include "traces/model/trace.h"

namespace tidemark {

// The default to which sizes are rounded up, as common allocators do.
constexpr Bytes kUsualAlignment = 512;

struct DeviceIntervals {
    std::uint16_t device = 0;
    std::vector<std::uint64_t> events;  // that made them, counted from 0: their names in a plan
    std::vector<Interval> intervals;
    bool waits =
        false;  // some end when the device was done: in another run that is at another event
};

// Of each GPU that has allocations, in the order of their numbers; sizes are rounded up to
// `alignment`, a power of two. Requests for no bytes, and memory that is no GPU's, are left out.
// Errors: those of the cursor. O(events).
Result<std::vector<DeviceIntervals>> trace_intervals(const Trace& trace, Bytes alignment);

}  // namespace tidemark
