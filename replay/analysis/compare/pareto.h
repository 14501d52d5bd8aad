// The Pareto front of memory against driver time: what remains once everything is left out that
// something else beats in one of the two and in the other at least equals.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

struct MemoryAndTime {
    double memory = 0;
    Nanoseconds driver_time = 0;
    bool competes = true;  // false: it was refused more than others, so needs less; never in front
};

// Of each point, whether it is in front. Equal ones all are. O(n^2).
std::vector<bool> pareto_front(std::span<const MemoryAndTime> points);

}  // namespace tidemark
