// Is a packing valid? It checks this without the code that makes packings: a sweep over time with
// the live intervals in order of address.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "replay/analysis/bound/packing.h"

namespace tidemark {

// Two intervals that are live at once and share a byte.
struct PackingClash {
    std::size_t first = 0;
    std::size_t second = 0;
};

// Some clash, none if there is none. `offsets` has one entry for each interval, and no interval
// ends beyond the largest number. O(n log n).
std::optional<PackingClash> find_clash(std::span<const Interval> intervals,
                                       std::span<const Bytes> offsets);

}  // namespace tidemark
