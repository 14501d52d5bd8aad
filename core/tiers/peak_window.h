// PeakWindow: the largest value of a window that slides over a row of numbers. A queue that keeps
// only those values which are larger than all behind them: O(1) amortised for each number.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>

#include "core/base/units.h"

namespace tidemark {

class PeakWindow {
  public:
    void clear() { entries_.clear(); }

    bool empty() const { return entries_.empty(); }

    // The next number joins; `place` grows from call to call.
    void add(std::uint64_t place, Bytes value) {
        while (!entries_.empty() && entries_.back().value <= value)
            entries_.pop_back();
        entries_.push_back({place, value});
    }

    // Numbers before `place` leave.
    void drop_before(std::uint64_t place) {
        while (!entries_.empty() && entries_.front().place < place)
            entries_.pop_front();
    }

    // The largest of those in the window; 0 if there are none.
    Bytes peak() const { return entries_.empty() ? 0 : entries_.front().value; }

  private:
    struct Entry {
        std::uint64_t place = 0;
        Bytes value = 0;
    };

    std::deque<Entry> entries_;
};

}  // namespace tidemark
