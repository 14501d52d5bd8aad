// EventPosition: where in the program an event of a trace is: its step or other ranges, and its
// call stack, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// A named range of the program (a step, a module, an annotation), and which one of that name.
struct NamedRange {
    std::string name;
    std::uint64_t number = 0;  // 1 = the first of that name on this device
};

struct EventPosition {
    std::vector<NamedRange> inside;  // ranges that are open on the event's device, outermost first
    std::vector<NamedRange> after;   // if none is open: the one that ended last; else empty
    // "name (file:line)", innermost first, from the program's own line on (Sites::own_frames);
    // empty if not recorded.
    std::vector<std::string> stack;
    std::string operation;           // that this line ran: "aten::convolution" (Sites::operation)
    std::string tag;                 // the program's own name for the event
    std::optional<std::size_t> gpu;  // on which of several; none: the trace has one
};

struct EventPositions {
    std::vector<EventPosition> positions;  // in the order of the events given
    std::uint64_t recorded_refusals = 0;   // requests that failed in the recorded program, in total
    bool has_retired = false;              // some frees had to wait for the device
};

// Looks up `events` (indexes, in any order) in one pass over the whole trace. O(trace + text).
// Errors: those of the trace's cursor.
Result<EventPositions> find_event_positions(const Trace& trace,
                                            std::span<const std::uint64_t> events);

}  // namespace tidemark
