// Packing: intervals of time with sizes, each with an offset so that no two that are live at once
// share a byte. No allocator can need less than the least height of any packing, even one that knew
// the whole run (dynamic storage allocation; NP-hard).
#pragma once

#include <span>
#include <vector>

#include "core/capture/packing_csv.h"

namespace tidemark {

struct Packing {
    std::vector<Bytes> offsets;  // of each interval
    Bytes height = 0;            // the highest end of any
};

// The highest end of any interval at these offsets. O(n).
Bytes height_of(std::span<const Interval> intervals, std::span<const Bytes> offsets);

}  // namespace tidemark
