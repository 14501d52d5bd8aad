// StreamDensity: how many allocations, frees and frees that stay pending each stream has between
// any two events. Counts are in a table of at most 2^16 buckets of equal numbers of events; ranges
// too short for a table are counted event by event.
//
// Building it walks every event and looks up its block: about 30 ns an event on one core, 3 s for
// 10^8; that is work for a job. Memory: 12 bytes for each bucket and stream, 12 MB for 16 streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

struct StreamCounts {
    double allocations = 0;
    double frees = 0;
    double waiting = 0;  // of the frees: those whose bytes were pending free

    friend bool operator==(const StreamCounts&, const StreamCounts&) = default;
};

class StreamDensity {
  public:
    static constexpr std::size_t kBuckets = 1U << 16U;
    static constexpr std::size_t kStreams = 16;  // the others share the last row
    static constexpr EventIndex kExact = 1U << 15U;

    // Of the first `events` of `history`. Counts that `known` has for the same history's first
    // events are reused, so that a growing one costs only what is new. Null if it was cancelled.
    static std::shared_ptr<const StreamDensity> build(const History& history, std::size_t events,
                                                      const Cancelled& cancelled,
                                                      const StreamDensity* known = nullptr);

    std::size_t events() const { return events_; }

    // Rows, in the order of StreamId; 0 before any.
    std::size_t streams() const { return streams_; }

    // The counts in [first, last), by stream: `counts[stream]`. Estimated within a bucket at either
    // end; events of `history` beyond events() are counted one by one. O(streams + those).
    void between(const History& history, EventIndex first, EventIndex last,
                 std::span<StreamCounts> counts) const;

    // Counts events [first, last) one by one into `counts`, of which there are as many as streams.
    // O(last - first).
    static void count(const History& history, EventIndex first, EventIndex last,
                      std::span<StreamCounts> counts);

  private:
    struct Counts {
        std::uint32_t allocations = 0;
        std::uint32_t frees = 0;
        std::uint32_t waiting = 0;
    };

    std::size_t take(const StreamDensity& known);
    StreamCounts before(EventIndex event, std::size_t stream) const;

    std::size_t events_ = 0;
    std::size_t streams_ = 0;
    std::size_t per_bucket_ = 1;
    std::vector<Counts> sums_;  // before each bucket, and of all; streams side by side
};

}  // namespace tidemark::viz
