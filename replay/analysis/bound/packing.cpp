// How high a packing is.
#include "replay/analysis/bound/packing.h"

#include <algorithm>

namespace tidemark {

Bytes height_of(std::span<const Interval> intervals, std::span<const Bytes> offsets) {
    Bytes height = 0;
    for (std::size_t i = 0; i < intervals.size(); ++i)
        height = std::max(height, offsets[i] + intervals[i].size);
    return height;
}

}  // namespace tidemark
