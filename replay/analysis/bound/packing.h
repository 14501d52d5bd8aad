// Packing: intervals of time with sizes, each given an offset so that no two that live at once
// share a byte. The least height of any packing is what no allocator could do with less than, even
// one that knew the whole run (dynamic storage allocation; NP-hard).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

// Lives from `begin` to before `end`, which is later.
struct Interval {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Bytes size = 0;
};

struct Packing {
    std::vector<Bytes> offsets;  // of each interval
    Bytes height = 0;            // the highest end of any
};

// The highest end of any interval at these offsets. O(n).
Bytes height_of(std::span<const Interval> intervals, std::span<const Bytes> offsets);

}  // namespace tidemark
