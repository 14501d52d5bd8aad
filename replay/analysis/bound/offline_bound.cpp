// Device by device, and added up.
#include "replay/analysis/bound/offline_bound.h"

#include <algorithm>
#include <vector>

#include "replay/analysis/bound/bound.h"
#include "replay/analysis/bound/trace_intervals.h"

namespace tidemark {
namespace {

// The most bytes that are live at once, of intervals between events in the order of their starts.
// Ends after the last start don't matter, and a damaged file may contain anything there. O(events).
Bytes most_at_once(std::span<const Interval> intervals) {
    const auto last = static_cast<std::size_t>(intervals.empty() ? 0 : intervals.back().begin);
    std::vector<Bytes> begins(last + 1);
    std::vector<Bytes> ends(last + 1);
    for (const Interval& interval : intervals) {
        begins[static_cast<std::size_t>(interval.begin)] += interval.size;
        if (interval.end <= intervals.back().begin)
            ends[static_cast<std::size_t>(interval.end)] += interval.size;
    }
    Bytes live = 0;
    Bytes most = 0;
    for (std::size_t i = 0; i < begins.size(); ++i) {
        live = live - ends[i] + begins[i];
        most = std::max(most, live);
    }
    return most;
}

}  // namespace

Result<OfflineBound> offline_bound(const Trace& trace, const OfflineQuestion& question) {
    TM_ASSIGN(const std::vector<DeviceIntervals> devices, trace_intervals(trace, kUsualAlignment));
    OfflineBound bound;
    if (question.search)
        bound.packed = 0;
    for (const DeviceIntervals& device : devices) {
        bound.lower += most_at_once(device.intervals);
        bound.waits = bound.waits || device.waits;
        if (!question.search)
            continue;
        TM_ASSIGN(const Bound found, find_bound(device.intervals, {.threads = question.threads,
                                                                   .stop = question.stop}));
        if (found.stopped)
            bound.packed.reset();
        else if (bound.packed)
            *bound.packed += found.packing.height;
    }
    return bound;
}

}  // namespace tidemark
