// RangeSummary: figures of a stretch of a run: minimum, maximum and mean of the curves, and the
// sizes and lifetimes of the blocks that were allocated in it.
//
// Pure; for jobs.
#pragma once

#include <array>
#include <cstdint>

#include "replay/analysis/trace/histogram.h"
#include "replay/timeline/history.h"
#include "viz/model/session/camera.h"
#include "viz/model/session/job.h"
#include "viz/model/session/moment.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

struct RangeQuestion {
    AxisUnit unit = AxisUnit::time;
    Window window;   // which values count for how long
    EventSpan span;  // what happened in it
    Filter filter;   // of blocks

    friend bool operator==(const RangeQuestion&, const RangeQuestion&) = default;
};

// Of the values at any moment of the stretch, the one on entry included.
struct SeriesRange {
    Bytes min = 0;
    Bytes max = 0;
    Bytes mean = 0;  // each value counts for as long as it lasted on the axis
};

struct RangeSummary {
    RangeQuestion question;
    std::uint64_t events = 0;
    std::array<SeriesRange, kSeriesCount> series;
    // Of blocks in GPU memory that were allocated in it.
    std::uint64_t blocks = 0;
    Bytes bytes = 0;
    std::uint64_t unfreed_blocks = 0;  // of them: those that the program never freed
    Bytes unfreed_bytes = 0;
    Histogram sizes;        // bytes, as allocated
    bool has_times = true;  // else lifetimes are counted in events
    Histogram lifetimes;    // of those that were freed: ns from allocation until the free
};

// O(events + blocks of the stretch). The stretch ends with a run that has ended. Cancelled: wrong.
RangeSummary range_summary(const History& history, const RangeQuestion& question,
                           const Cancelled& cancelled);

}  // namespace tidemark::viz
