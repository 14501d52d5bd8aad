// Slope: how a figure changes over time, by a measure that single moments can't move: the median of
// the slopes of all pairs, with the interval in which 95 of 100 such medians lie (P. K. Sen,
// "Estimates of the regression coefficient based on Kendall's tau", 1968).
#pragma once

#include <span>

namespace tidemark::facts {

// A figure and its moment, in whatever unit: a slope is per that unit.
struct Sample {
    double at = 0;
    double value = 0;
};

struct Slope {
    double middle = 0;
    double least = 0;  // of the interval
    double most = 0;
    double rising = 0;  // pairs that rise less those that fall, of all pairs: -1 to 1
};

// All zero without two samples of different moments. `samples` by moment, ascending. Time and
// memory are O(samples^2). Pure.
Slope slope_of(std::span<const Sample> samples);

}  // namespace tidemark::facts
