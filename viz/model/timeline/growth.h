// Growth: whether what a living program holds grows, how fast, and when the device is full.
//
// A training's memory rises and falls with every step: like must be compared with like. What is
// compared is the least of each whole step, where the program tells its steps, else the least of
// twelfths of the last minute. Through these goes a line (facts::Slope): a single jump, or a part
// of a tooth that is longer than the minute's twelfths, tilts neither it nor its interval. Growth
// is certain if all of the interval is above zero and memory now stands higher than it ever fell
// back to in the minutes before.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "replay/facts/slope.h"
#include "replay/timeline/history.h"
#include "viz/model/timeline/step_index.h"

namespace tidemark::viz {

struct Growth {
    facts::Slope per_minute;
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
