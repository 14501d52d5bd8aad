// StreamOrder: which work is known to finish before which. Vector clocks of the streams and of the
// host.
//
// Model: the work of a stream is cut into epochs at each event that is recorded on it. A stream's
// clock says which epoch of every other stream has ended before what it runs next; waiting for an
// event merges the clock that the event had. The host's clock says what the host has seen complete;
// whatever is queued afterwards comes after that too.
//
// Not thread-safe. O(streams) a call; memory O(streams^2 + events not yet seen complete).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

class StreamOrder {
  public:
    // The work of one stream up to some moment.
    struct Work {
        StreamId stream = StreamId::default_stream;
        std::uint64_t epoch = 0;

        friend bool operator==(const Work&, const Work&) = default;
    };

    // If there are more than `most_events` events, the oldest are dropped: a wait for one then
    // counts as a wait for all dropped ones, so a long run can at worst miss a hazard, never
    // invent one.
    explicit StreamOrder(std::size_t most_events = std::size_t{1} << 20)
        : most_events_(most_events) {}

    // Everything queued on `stream` so far.
    Work work_of(StreamId stream);

    // Has `work` finished before whatever is queued on `later` from now on?
    bool before(const Work& work, StreamId later);

    // Has the host seen the end of `work`?
    bool seen_by_host(const Work& work);

    void recorded(StreamId stream, EventId event);
    void waited(StreamId stream, EventId event);
    void seen_complete(EventId event);
    void synchronized(StreamId stream);
    void synchronized_all();

  private:
    using Clock = std::vector<std::uint64_t>;  // by stream index: the last epoch that is over

    std::size_t index_of(StreamId stream);
    static void join(Clock& clock, const Clock& other);
    static std::uint64_t at(const Clock& clock, std::size_t index);
    void forget_old_events();

    std::size_t most_events_;
    std::unordered_map<std::uint32_t, std::size_t> indices_;
    std::vector<std::uint64_t> epochs_;  // the current one, from 1
    std::vector<Clock> clocks_;          // of streams
    Clock host_;
    std::unordered_map<std::uint64_t, Clock> events_;
    std::deque<std::uint64_t> event_order_;
    Clock forgotten_;
};

}  // namespace tidemark
