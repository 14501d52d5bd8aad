// RoomTimes: from when on the free bytes of a space are really free. A decision to evict a buffer
// makes room at once on paper; the bytes can be used when its copy has left. This keeps the two
// together: who takes room gets what is free earliest, and learns when that is.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/base/check.h"
#include "core/base/units.h"

namespace tidemark {

class RoomTimes {
  public:
    explicit RoomTimes(Bytes capacity) : now_free_(capacity), free_(capacity) {}

    Bytes free() const { return free_; }

    // Bytes that are free from `when` on. O(log pieces).
    void give(Bytes size, Nanoseconds when) {
        free_ += size;
        pieces_.push_back({when, size});
        std::push_heap(pieces_.begin(), pieces_.end(), std::greater<>());
    }

    // Takes bytes, of which as many must be free, and says from when on all of them can be used:
    // `now` if at once. Amortised O(log pieces).
    Nanoseconds take(Bytes size, Nanoseconds now) {
        TM_CHECK(size <= free_);
        free_ -= size;
        Nanoseconds when = now;
        while (!pieces_.empty() && (now_free_ < size || pieces_.front().when <= now)) {
            when = std::max(when, pieces_.front().when);
            now_free_ += pieces_.front().size;
            std::pop_heap(pieces_.begin(), pieces_.end(), std::greater<>());
            pieces_.pop_back();
        }
        now_free_ -= size;
        return when;
    }

  private:
    struct Piece {
        Nanoseconds when = 0;
        Bytes size = 0;

        friend bool operator>(const Piece& left, const Piece& right) {
            return left.when > right.when;
        }
    };

    Bytes now_free_;  // can be used whatever the time
    Bytes free_;
    std::vector<Piece> pieces_;  // a heap, earliest first
};

}  // namespace tidemark
