// Agenda: what has happened in an engine and has yet to be handled. Whoever changes something posts
// it. A turn (SpillEngine::schedule) handles one entry after another and ends when none is left.
//
// What concerns the whole engine is posted as a Happening: posting it twice counts once, and they
// are handled in the order of the enumeration. The ends of moves are kept one by one, in order.
//
// Thread-safety: none, like the engine. O(1).
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace tidemark {

enum class Happening : std::uint8_t {
    freed,        // memory became free: parked moves queue again
    released,     // an access ended or was given up: parked groups try again
    changed,      // something was decided or has ended: requests and queues are served
    advanced,     // the program did something: LookAhead looks at what is next
    freed_ahead,  // memory became free that LookAhead waits for
};

// How the move of a buffer ended, for those who wait for the buffer.
struct MoveEnd {
    enum class Outcome : std::uint8_t { done, abandoned, no_room, failed };

    std::uint32_t buffer = 0;
    std::size_t target = 0;
    Outcome outcome = Outcome::done;
    std::unique_ptr<Error> error = {};  // no_room, failed
};

class Agenda {
  public:
    void post(Happening what) { pending_ |= bit(what); }

    bool holds(Happening what) const { return (pending_ & bit(what)) != 0; }

    // There is no time for it.
    void drop(Happening what) { pending_ &= ~bit(what); }

    void post(MoveEnd end) { ends_.push_back(std::move(end)); }

    // Nothing: the turn has ended.
    std::optional<Happening> next() {
        if (pending_ == 0)
            return std::nullopt;
        const auto first = static_cast<Happening>(std::countr_zero(pending_));
        pending_ &= pending_ - 1;
        return first;
    }

    std::optional<MoveEnd> next_end() {
        if (ends_.empty())
            return std::nullopt;
        MoveEnd end = std::move(ends_.front());
        ends_.erase(ends_.begin());
        return end;
    }

    bool empty() const { return pending_ == 0 && ends_.empty(); }

  private:
    static unsigned bit(Happening what) { return 1U << static_cast<unsigned>(what); }

    unsigned pending_ = 0;
    std::vector<MoveEnd> ends_;  // hardly ever more than one
};

}  // namespace tidemark
