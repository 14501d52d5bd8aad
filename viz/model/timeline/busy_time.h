// BusyTime: stretches of time in which something was busy, and how much of any window they cover:
// prefix sums, so that a column costs two searches however many stretches it holds. Immutable; any
// number of threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "viz/model/timeline/merged_ranges.h"

namespace tidemark::viz {

class BusyTime {
  public:
    // Stretches by start; parts that overlap the one before are cut. O(stretches); 24 bytes each.
    void add(Nanoseconds begin, Nanoseconds end);

    std::size_t size() const { return begins_.size(); }

    Nanoseconds begin(std::size_t i) const { return begins_[i]; }

    Nanoseconds end(std::size_t i) const { return ends_[i]; }

    // Busy time before `time`. O(log stretches).
    Nanoseconds before(Nanoseconds time) const;

    // Of all of them.
    Nanoseconds total() const;

    // Stretches that start before `time`. O(log stretches).
    std::size_t begun_before(Nanoseconds time) const;

    // Adds for each column of [begin, end) the busy time in it.
    // O(columns * log stretches).
    void add_columns(Nanoseconds begin, Nanoseconds end, std::span<Nanoseconds> columns) const;

  private:
    std::vector<Nanoseconds> begins_;
    std::vector<Nanoseconds> ends_;
    std::vector<Nanoseconds> before_;  // busy time before each
};

}  // namespace tidemark::viz
