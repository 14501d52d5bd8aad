// Moments: the times at which the most intervals are live together. Two intervals meet if they
// share a moment, so whatever holds at every moment always holds, and there are fewer moments than
// times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replay/analysis/bound/packing.h"

namespace tidemark {

// The moments at which an interval is live: from `first` to before `last`.
struct MomentRange {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
};

struct Moments {
    std::vector<MomentRange> ranges;  // of each interval
    std::vector<Bytes> load;          // of each moment: the bytes that are live at it
    std::vector<std::uint32_t> live;  // and how many intervals

    // The most bytes that are live at once: no packing is lower.
    Bytes peak_load() const;
};

// O(n log n).
Moments find_moments(std::span<const Interval> intervals);

}  // namespace tidemark
