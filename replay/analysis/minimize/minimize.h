// minimize: the smallest trace that still shows something, out of one that does: delta debugging
// (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002) over what can
// be left out by itself (trace_units.h), from halves down to single allocations.
//
// The result is the same for every number of threads. None of its allocations (and ranges, waits,
// ...) can be left out alone, but a smaller trace that shows it may still exist.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// Whether a candidate shows it. Must depend on nothing else; called by several threads at once.
using ShownBy = std::function<Result<bool>(const Trace& candidate)>;

struct MinimizeOptions {
    unsigned threads = 0;  // 0 = one for each core
    // Called before each candidate; once it returns true, the best so far is the result. May be
    // empty.
    std::function<bool()> stop = {};
    // Events that have been left out, of all; by one thread. May be empty.
    std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

struct TraceSize {
    std::uint64_t events =
        0;  // that the program made: what was recorded of decisions isn't counted
    std::uint64_t allocations = 0;
};

struct MinimizedTrace {
    std::vector<TraceEvent> events;
    TraceInfo info;  // of those events; strings and stacks are all of the trace's
    TraceSize before;
    TraceSize after;
    std::uint64_t replays = 0;  // candidates whose outcome counted
    bool complete = false;      // it wasn't stopped
};

// Memory O(events); n log n replays where little is needed, n^2 at worst. Errors: those of `trace`
// and of `shown`; unsupported: the trace doesn't show it without the parts that are left out from
// the start.
Result<MinimizedTrace> minimize_trace(const Trace& trace, const ShownBy& shown,
                                      const MinimizeOptions& options = {});

}  // namespace tidemark
