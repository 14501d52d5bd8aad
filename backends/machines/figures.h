// Figures: the result of repeated measurements, and what times of copies say about a link. Only
// arithmetic: no clock, no device. Values; thread-safe; O(samples log samples).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

// The same quantity, measured several times.
struct Figure {
    double median = 0;
    double least = 0;
    double most = 0;
    unsigned runs = 0;  // 0: not measured

    // How far the runs are apart, as a share of the median; 0 if that is 0.
    double spread() const;
};

Figure figure_of(std::vector<double> samples);

// "9 runs, spread 0.4 %"; for a median of 0, which has no spread, "9 runs, most of them 0".
std::string spread_text(const Figure& figure);

// Times of copies over a link in one direction. Constant parts of a timing (a synchronization,
// reading a clock) are in both large times, and cancel out.
struct CopyTimes {
    Bytes less = 0;  // two large copies
    Bytes more = 0;
    Nanoseconds less_time = 0;
    Nanoseconds more_time = 0;
    Bytes small = 0;  // the size of a small copy,
    double each = 0;  // how much one more of them adds to many in a row (nanoseconds),
    // and how long one alone takes until the host knows that it has arrived
    Nanoseconds single = 0;
};

// One run's values for LinkSpec's figures, chosen so that transfer_time and latency give these
// times back.
struct LinkSample {
    double bytes_per_second = 0;
    double overhead = 0;  // nanoseconds
    double latency = 0;   // nanoseconds
};

// Nothing if the larger of the copies did not take longer: the clock is too coarse for them.
std::optional<LinkSample> link_sample(const CopyTimes& times);

// What links share whose copies run at once: `both` is what they got together, `alone` what each
// gets without the other. 0: they share nothing, each gets its own bandwidth, up to 5 %. Otherwise
// the bandwidth of their bus, which is at least that of each of them.
double bus_bandwidth(double both, std::span<const double> alone);

}  // namespace tidemark
