// Packs intervals one by one, each as low as those before it allow: some order gives any packing
// that cannot be pushed down, and a few orders give good ones (by lifetime, area, size).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "replay/analysis/bound/moments.h"
#include "replay/analysis/bound/packing.h"

namespace tidemark {

// `order` is a permutation of the intervals; `moments` are theirs. Empty offsets: `stop` said so.
// O(n * live) for most, where `live` is how many are live at once.
Packing pack_in_order(std::span<const Interval> intervals, const Moments& moments,
                      std::span<const std::uint32_t> order, const std::function<bool()>& stop);

// Packs in order of time, each into the smallest gap that holds it, as an allocator without
// knowledge of the future would. O(n log n).
Packing pack_in_time(std::span<const Interval> intervals);

}  // namespace tidemark
