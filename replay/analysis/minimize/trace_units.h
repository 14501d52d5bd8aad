// TraceUnits: a trace as the parts that can be left out of it one by one: an allocation with its
// uses and its free, a range, a synchronization.
//
// What the recorded system decided (addresses, segments) is left out from the start. Blocks that
// were live before the trace's first event are allocated like the rest. Of emptied caches, only the
// fact that they were emptied is kept. A trace of any format can express that.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

struct TraceUnits {
    std::vector<TraceEvent> events;
    std::vector<std::uint32_t> unit;  // of each event
    std::uint32_t count = 0;          // every unit is below this
};

// O(events), in time and memory. Errors: those of the trace.
Result<TraceUnits> trace_units(const Trace& trace);

// All units that have an event among `events`, the least important first: allocations that end
// before the trace does, then the others, small allocations before large ones. O(n log n).
std::vector<std::uint32_t> removal_order(const std::vector<TraceEvent>& events,
                                         const std::vector<std::uint32_t>& unit);

}  // namespace tidemark
