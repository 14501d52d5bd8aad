// RoomTimes: from when on the free bytes of a space are really free. A decision to evict a buffer
// makes room at once on paper; the bytes can be used when its copy has left. This keeps the two
// together: who takes room gets what is free earliest, and learns when that is.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/check.h"
#include "core/base/units.h"

namespace tidemark {

// From when on room can be used, and the last copy that makes it; 0: none.
struct Room {
    Nanoseconds when = 0;
    std::uint64_t copy = 0;
};

class RoomTimes {
  public:
    explicit RoomTimes(Bytes capacity) : now_free_(capacity), free_(capacity) {}

    Bytes free() const { return free_; }

    // Bytes that are free from `when` on, when the copy of that number has left (0: there is none).
    // O(log pieces).
    void give(Bytes size, Nanoseconds when, std::uint64_t copy = 0) {
        free_ += size;
        pieces_.push_back({when, size, copy});
        std::push_heap(pieces_.begin(), pieces_.end(), std::greater<>());
    }

    // Takes bytes, of which as many must be free, and says from when on all of them can be used:
    // `now` if at once; and the last copy that leaves them. Amortised O(log pieces).
    Room take(Bytes size, Nanoseconds now) {
        TM_CHECK(size <= free_);
        free_ -= size;
        Room room{now, 0};
        while (!pieces_.empty() && (now_free_ < size || pieces_.front().when <= now)) {
            room.when = std::max(room.when, pieces_.front().when);
            room.copy = std::max(room.copy, pieces_.front().copy);
            now_free_ += pieces_.front().size;
            std::pop_heap(pieces_.begin(), pieces_.end(), std::greater<>());
            pieces_.pop_back();
        }
        now_free_ -= size;
        return room;
    }

  private:
    struct Piece {
        Nanoseconds when = 0;
        Bytes size = 0;
        std::uint64_t copy = 0;

        friend bool operator>(const Piece& left, const Piece& right) {
            return left.when > right.when;
        }
    };

    Bytes now_free_;  // can be used whatever the time
    Bytes free_;
    std::vector<Piece> pieces_;  // a heap, earliest first
};

}  // namespace tidemark
