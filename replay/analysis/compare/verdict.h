// What a comparison means, in a sentence for a person who has to decide. Pure; the text is a
// function of the figures alone.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "replay/analysis/compare/compare.h"

namespace tidemark {

// Time in the driver and waiting for the device: what a policy costs beside memory.
Nanoseconds device_time(const Run& run);

// The same without what reaching the peak took: what every further step costs.
Nanoseconds steady_time(const Run& run);

// Requests that were out of memory.
std::uint64_t times_refused(const Run& run);

// Is the time that a policy adds to the baseline's in every step, growth left out, not worth
// speaking of? Up to 1 % of the
// baseline's run is not; where traces have no times (`timed` false), up to what the
// baseline spends in all.
struct Price {
    Nanoseconds steady_time = 0;
    Nanoseconds device_time = 0;  // with growth
    Nanoseconds run = 0;          // makespan, without growth
};

bool affordable(const Price& price, const Price& baseline, bool timed);

// What one would switch to: no refusals, the lowest peak among those that are affordable, the
// baseline where nothing peaks lower; whatever is refused nothing where the baseline was. Null if
// everybody was refused something. Both lists are ranked and hold the baseline. O(rows).
const ComparisonRow* recommended(std::span<const ComparisonRow> rows, bool timed);
const ComparisonTotal* recommended(std::span<const ComparisonTotal> totals, bool timed);

// "best-fit would have peaked at 6.9 GiB, 4.1 % below torch (7.2 GiB); the program itself asked for
// 6.6 GiB at most, so ...". The lists as above.
std::string verdict(std::span<const ComparisonRow> rows, bool timed);
std::string verdict(std::span<const ComparisonTotal> totals, std::size_t traces, bool timed);

// Driver time of both policies over the traces of a paired effect.
struct PairedTimes {
    Nanoseconds policy = 0;
    Nanoseconds baseline = 0;
};

struct PairedNames {
    std::string policy;
    std::string baseline;
};

// "vpmm needs 12 % less [9, 15] than torch on these 7 traces; it costs 3 % more driver time".
std::string verdict(const PairedEffect& effect, const PairedTimes& times, const PairedNames& names);

}  // namespace tidemark
