// cut: a window of a trace as a separate trace. What is live at its start becomes the preamble, as
// in a recording that was started late: segments, blocks in them, requests. So the cut can be
// replayed, advised on and verified alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// Where a window begins or ends; if nothing is set: where the trace does.
struct CutPoint {
    std::optional<std::uint64_t> event = {};  // index; as an end it is the first one left out
    std::optional<Nanoseconds> time = {};     // of the trace; as an end too
};

struct CutWindow {
    CutPoint from;
    CutPoint to;
};

// The events that a window holds: [begin, end).
struct CutEvents {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

// O(events). Errors (bad_option): a window without events; those of the trace.
Result<CutEvents> find_events(const Trace& trace, const CutWindow& window);

// The events of the steps `first` to `last`: ranges with "step" in their name, known by the number
// that it ends in ("step 12", "ProfilerStep#12"), or, without one, counted from 1. O(events).
// Errors (bad_option): no such step.
Result<CutEvents> find_steps(const Trace& trace, std::uint64_t first, std::uint64_t last);

// The same for the first range called `name`.
Result<CutEvents> find_range(const Trace& trace, const std::string& name);

// Writes the events to `sink`, without finishing it, and returns what finish() needs. Times count
// from the window's first event. Sizes of blocks that are live at the start follow from the
// recorded addresses by PyTorch's rules. Annotations and pools that are open there are opened
// again. O(events); memory O(live). Errors: of the trace and the sink.
Result<TraceInfo> cut_trace(const Trace& trace, const CutEvents& events, TraceSink& sink);

}  // namespace tidemark
