// What a comparison means, as a sentence for a person who has to decide. Pure; the text is a
// function of the figures alone.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "replay/analysis/compare/compare.h"

namespace tidemark {

// Time in the driver and waiting for the device: what a policy costs apart from memory.
Nanoseconds device_time(const Run& run);

// The same without the cost of reaching the peak: what every further step costs.
Nanoseconds steady_time(const Run& run);

// Requests that ran out of memory.
std::uint64_t times_refused(const Run& run);

// Is the time negligible that a policy adds to the baseline's in every step, without growth? Up to
// 1 % of the baseline's run is; if traces have no times (`timed` false), up to what the baseline
// spends in total.
struct Price {
    Nanoseconds steady_time = 0;
    Nanoseconds device_time = 0;  // with growth
    Nanoseconds run = 0;          // makespan, without growth
};

bool affordable(const Price& price, const Price& baseline, bool timed);

// The policy to switch to: no failed requests, the lowest peak among those that are affordable, the
// baseline if nothing peaks lower. If requests failed under the baseline: the best-ranked policy
// under which none failed, whatever its price. Null if requests failed under every policy. Both
// lists are ranked and hold the baseline. O(rows).
const ComparisonRow* recommended(std::span<const ComparisonRow> rows, bool timed);
const ComparisonTotal* recommended(std::span<const ComparisonTotal> totals, bool timed);

// "best-fit would have peaked at 6.9 GiB, 4.1 % below torch (7.2 GiB); the program itself requested
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
