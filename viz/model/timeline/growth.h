// Growth: whether what a living program holds grows, how fast, and when the device is full.
//
// A training's memory rises and falls with every step: like must be compared with like. What is
// compared is the least of each whole step, where the program tells its steps, else the least of
// twelfths of the last minute. Through these goes a line: the median of the slopes of all pairs,
// with the interval in which 95 of 100 such medians lie (P. K. Sen, "Estimates of the regression
// coefficient based on Kendall's tau", 1968): a single jump, or a part of a tooth that is longer
// than the minute's twelfths, tilts neither. Growth is certain if all of the interval is above
// zero and memory now stands higher than it ever fell back to in the minutes before.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "replay/timeline/history.h"
#include "viz/model/timeline/step_index.h"

namespace tidemark::viz {

// A figure and a moment.
struct GrowthSample {
    double at = 0;
    double value = 0;
};

// By how much the figure changes in a unit of the samples' times.
struct Slope {
    double middle = 0;
    double least = 0;  // of the interval
    double most = 0;
};

// At least two samples with different times. O(samples^2 log samples).
Slope slope_of(std::span<const GrowthSample> samples);

struct Growth {
    Slope per_minute;
    bool certain = false;  // and upwards
};

struct RunGrowth {
    std::array<Growth, kSeriesCount> series;  // bytes a minute
    Growth events_per_second;                 // by how much they change in a minute
    std::size_t steps = 0;                    // whole ones that were compared; 0: windows of time
    Nanoseconds length = 0;                   // of what was compared
    bool since_start = false;                 // there was no more

    const Growth& of(Series which) const { return series[static_cast<std::size_t>(which)]; }
};

// At `now` of the history's time. `steps` are those of the history. None where there is too little
// to compare: less than three seconds. O(log events), some hundred times.
std::optional<RunGrowth> growth_of(const History& history, const StepIndex& steps, Nanoseconds now);

// "over 24 steps, 58.2 s", "in the last minute", "since the start, 23.0 s".
std::string basis_text(const RunGrowth& growth);

struct TimeLeft {
    Nanoseconds least = 0;
    Nanoseconds most = 0;
};

// Until `free` bytes are taken. None unless growth is certain, and known well enough for a time to
// be told: the longest at most three times the shortest, and below a day.
std::optional<TimeLeft> time_left(const Growth& growth, Bytes free);

// "in 12 to 16 min", "in about 40 s".
std::string to_text(const TimeLeft& left);

}  // namespace tidemark::viz
