// Searches for a packing that fits into a capacity, if the simple methods don't find one.
//
// From below: at each moment there is a floor, up to which it is settled. At a moment whose floor
// no neighbour undercuts, some interval begins on that floor, or the floor rises, which wastes
// memory and soon leaves too little for the rest; the search tries both, at the moment with the
// fewest choices. Parts that no longer meet are searched separately. Sources of these ideas:
// canonical packings from below and splitting (M. D. Moffitt, MiniMalloc, ASPLOS 2023), choosing
// where it failed most (Boussemart et al., ECAI 2004), going back to what a failure is due to
// (Prosser, 1993).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "replay/analysis/bound/moments.h"
#include "replay/analysis/bound/packing.h"

namespace tidemark {

// What makes an interval come first, where several may.
enum class FirstBy : std::uint8_t { lifetime, area, size, moments };

struct CapacityAttempt {
    Bytes capacity = 0;
    FirstBy first_by = FirstBy::lifetime;
    double noise = 0;  // how much chance there is in it: 0 = none, 1 = a factor of up to 2
    std::uint64_t seed = 0;
    std::uint64_t steps = 1000;  // after so many it gives up
    std::function<bool()> stop = {};
};

// One attempt. `failures` has a weight of at least 1 for each moment and is raised where this
// attempt failed: the next one begins there. None: not found, which proves nothing. Deterministic
// but for `stop`. Memory O(moments * live).
std::optional<Packing> search_capacity(std::span<const Interval> intervals, const Moments& moments,
                                       const CapacityAttempt& attempt,
                                       std::vector<double>& failures);

}  // namespace tidemark
