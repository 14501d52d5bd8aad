// VirtualClock: the simulator's time, its streams as queues, and points in them.
//
// now() = the recorded time (which a replay stores) + everything that calls have cost and waits
// have taken so far: costs push later events back, as they would on the machine. A stream is
// represented by the moment until which it is busy; queued work starts when both the stream and the
// caller have got there. Nothing else about work is remembered.
//
// Not thread-safe. O(1) unless stated otherwise.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/base/units.h"
#include "core/device/replay_clock.h"

namespace tidemark {

class VirtualClock {
  public:
    Nanoseconds now() const { return time_.now(); }

    // Where a replay stores the recorded time of the current event, and reads what was spent.
    ReplayClock* replay_clock() { return &time_; }

    // The caller is busy for `duration`.
    void spend(Nanoseconds duration) { time_.spent += duration; }

    // Queues work of `duration` on `stream`.
    void enqueue(StreamId stream, Nanoseconds duration);

    // When everything queued on `stream` so far is done; a moment in the past if it already is.
    Nanoseconds busy_until(StreamId stream) const;

    // Marks the current end of the work that was queued on `stream`.
    EventId record(StreamId stream);

    bool known(EventId event) const { return to_integer(event) < next_event_; }

    // Has that point passed? `event` must be known.
    bool passed(EventId event) const { return time_of(event) <= now(); }

    // What is queued on `stream` from now on begins after `event`.
    void wait(StreamId stream, EventId event) { hold(stream, time_of(event)); }

    // What is queued on `stream` from now on begins at `moment` at the earliest.
    void hold(StreamId stream, Nanoseconds moment);

    // Wait for the stream, the event, or all streams: the caller's time advances by what is
    // returned.
    Nanoseconds drain(StreamId stream) { return wait_until(busy_until(stream)); }

    Nanoseconds drain(EventId event) { return passed(event) ? 0 : wait_until(time_of(event)); }

    Nanoseconds drain_all() { return wait_until(latest_); }

  private:
    static constexpr std::uint32_t kDirect = 4096;  // streams below are indexed, others looked up

    Nanoseconds wait_until(Nanoseconds moment) {
        const Nanoseconds stall = moment - now();
        if (stall <= 0)
            return 0;
        time_.spent += stall;
        return stall;
    }

    Nanoseconds time_of(EventId event) const;
    Nanoseconds& stream(StreamId id);

    ReplayClock time_;
    Nanoseconds latest_ = 0;  // the last moment at which any stream is busy
    std::vector<Nanoseconds> streams_;
    std::unordered_map<std::uint32_t, Nanoseconds> far_streams_;
    std::deque<Nanoseconds> events_;  // those that have not passed, and the ones after them
    std::uint64_t first_event_ = 0;   // the number of events_.front()
    std::uint64_t next_event_ = 0;
};

}  // namespace tidemark
