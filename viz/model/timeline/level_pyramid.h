// LevelPyramid: a value that changes now and then, and its extremes between any two times in O(log
// changes): minima and maxima of runs of 64 changes, of 64 such runs, and so on. Immutable; any
// number of threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace tidemark::viz {

struct LevelColumn {
    Bytes min = 0;  // of all values within, the one on entry included
    Bytes max = 0;
    Bytes last = 0;  // on leaving

    friend bool operator==(const LevelColumn&, const LevelColumn&) = default;
};

class LevelPyramid {
  public:
    struct Change {
        Nanoseconds time = 0;
        Bytes value = 0;  // from then on, until the next one
    };

    // `changes` by time; of those at one time the last one stays. Before the first the value is 0.
    // O(changes); 16.3 bytes each.
    explicit LevelPyramid(std::vector<Change> changes = {});

    // The value at `time`: changes at that time have happened. O(log changes).
    Bytes at(Nanoseconds time) const;

    // [begin, end) cut into columns of equal width. Exact at every zoom: values that lasted for no
    // time at all (changes at one time) count as well. O(columns * log changes).
    void columns(Nanoseconds begin, Nanoseconds end, std::span<LevelColumn> columns) const;

    // When it is largest for the first time; 0 if it never changes. O(changes).
    Nanoseconds peak_time() const;

    std::size_t size() const { return changes_.size(); }

  private:
    static constexpr std::size_t kFanOut = 64;

    struct Extremes {
        Bytes min = 0;
        Bytes max = 0;
    };

    std::size_t first_at(Nanoseconds time) const;
    Extremes within(std::size_t first, std::size_t last, Extremes so_far) const;
    Extremes node(std::size_t level, std::size_t index) const;

    std::vector<Change> changes_;
    std::vector<std::vector<Extremes>> levels_;  // of runs of 64, 64 * 64, ...
};

}  // namespace tidemark::viz
