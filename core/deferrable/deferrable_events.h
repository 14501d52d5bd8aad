// DeferrableEvents: what happens to deferrable buffers, for one reader that fetches it at any time:
// there are no callbacks, so no lock of the store or of an interpreter is held meanwhile.
//
// The queue is bounded: when its reader is too slow the newest events are dropped and counted.
// Without a reader nothing is kept. Thread-safe. O(1) per event.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

struct DeferrableEvent {
    enum class Kind : std::uint8_t {
        registered,
        deferring,   // its bytes are being copied away
        deferred,    // they are elsewhere, and their memory is free or will be
        retrieving,  // room for them has been found
        retrieved,
        failed,    // a copy: the bytes are where they were
        freed,     // no more events of this id
        pressure,  // `size` bytes are needed that are not free (id 0)
    };

    Kind kind = Kind::registered;
    std::uint64_t id = 0;
    Bytes size = 0;
    std::uint64_t tag = 0;
};

class DeferrableEvents {
  public:
    static constexpr std::size_t kMost = 1U << 16U;

    // `first`: the existing buffers. False: there is a reader already.
    bool subscribe(std::vector<DeferrableEvent> first);

    // The reader gets no more events, and is woken.
    void unsubscribe();

    bool subscribed() const;

    // The event's number; 0: nobody gets it.
    std::uint64_t push(const DeferrableEvent& event);

    // New events, in order; waits for the first. Empty: none came, or the subscription has ended.
    // The next call means that the reader has handled what it got before.
    std::vector<DeferrableEvent> take(Nanoseconds patience, std::size_t most = kMost);

    // Whether it is worth waiting for the reader's reaction to an event: there is a reader, it is
    // another thread, and it is not behind with given-up events.
    bool responsive() const;

    // Whether the reader has handled that event, or there is none.
    bool handled(std::uint64_t number) const;

    // Nobody waits for the reader again before it has handled that event.
    void give_up(std::uint64_t number);

    std::uint64_t lost() const;

  private:
    mutable std::mutex mutex_;
    std::condition_variable came_;
    bool subscribed_ = false;
    std::deque<DeferrableEvent> events_;
    const void* reader_ = nullptr;  // the thread that took last
    std::uint64_t pushed_ = 0;      // numbers given
    std::uint64_t handled_ = 0;     // up to this one
    std::uint64_t given_up_ = 0;
    std::uint64_t lost_ = 0;
};

}  // namespace tidemark
