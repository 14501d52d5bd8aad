// Growth: whether what a live program holds grows, how fast, and when the device is full.
//
// The memory of a training run rises and falls with every step: only comparable moments may be
// compared. Growth compares the least value of each whole step, if the program marks its steps,
// else the least of twelfths of the last minute. It fits a line through these (facts::Slope): a
// single jump, or a part of a sawtooth that is longer than the minute's twelfths, tilts neither the
// line nor its interval. Growth is certain if all of the interval is above zero and memory is now
// higher than it ever fell back to in the minutes before.
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

// At `now` of the history's time. `steps` are those of the history. None if there is too little to
// compare: less than three seconds. O(log events), a few hundred times.
std::optional<RunGrowth> growth_of(const History& history, const StepIndex& steps, Nanoseconds now);

// "over 24 steps, 58.2 s", "in the last minute", "since the start, 23.0 s".
std::string basis_text(const RunGrowth& growth);

struct TimeLeft {
    Nanoseconds least = 0;
    Nanoseconds most = 0;
};

// Until `free` bytes are used. None unless growth is certain, and known well enough to give a time:
// the longest at most three times the shortest, and below a day.
std::optional<TimeLeft> time_left(const Growth& growth, Bytes free);

// "in 12 to 16 min", "in about 40 s".
std::string to_text(const TimeLeft& left);

}  // namespace tidemark::viz
