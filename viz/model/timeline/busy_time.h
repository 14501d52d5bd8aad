// BusyTime: stretches of time in which something was at work, and how much of any window that is:
// sums in front of each stretch, so that a column costs two searches however many it holds.
// Immutable; any number of threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "viz/model/timeline/merged_ranges.h"

namespace tidemark::viz {

class BusyTime {
  public:
    // Stretches by begin; what would overlap the one before is cut. O(stretches); 24 bytes each.
    void add(Nanoseconds begin, Nanoseconds end);

    std::size_t size() const { return begins_.size(); }

    Nanoseconds begin(std::size_t i) const { return begins_[i]; }

    Nanoseconds end(std::size_t i) const { return ends_[i]; }

    // Time at work before `time`. O(log stretches).
    Nanoseconds before(Nanoseconds time) const;

    // Of all of them.
    Nanoseconds total() const;

    // Stretches that begin before `time`. O(log stretches).
    std::size_t begun_before(Nanoseconds time) const;

    // Adds for each column of [begin, end) the time at work in it.
    // O(columns * log stretches).
    void add_columns(Nanoseconds begin, Nanoseconds end, std::span<Nanoseconds> columns) const;

  private:
    std::vector<Nanoseconds> begins_;
    std::vector<Nanoseconds> ends_;
    std::vector<Nanoseconds> before_;  // time at work before each
};

}  // namespace tidemark::viz
