// The Pareto front of memory against driver time: what remains without the points that another one
// beats in one of the two and at least equals in the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

struct MemoryAndTime {
    double memory = 0;
    Nanoseconds driver_time = 0;
    bool competes = true;  // false: more of its requests failed than of others, so it needs less;
                           // never on the front
};

// For each point, whether it is on the Pareto front. Equal ones all are. O(n^2).
std::vector<bool> pareto_front(std::span<const MemoryAndTime> points);

}  // namespace tidemark
