// Timeline: reserved, allocated and requested over a run, reduced to a few thousand buckets of
// equal numbers of events, whatever the run's length: when the buckets are full, neighbours are
// joined and each bucket spans twice as many events. What a chart needs and no more:
//
//     for (const TimelineBucket& bucket : run.timeline.buckets)
//         points.push_back({bucket.time, bucket.reserved_max});
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "replay/engine/observer.h"

namespace tidemark {

// The extremes within one bucket.
struct TimelineBucket {
    Nanoseconds time = 0;  // virtual, of its last event
    Bytes reserved_max = 0;
    Bytes allocated_max = 0;
    Bytes allocated_min = 0;
    Bytes requested_max = 0;
};

struct Timeline {
    std::uint64_t events_per_bucket = 1;
    std::vector<TimelineBucket> buckets;  // between kBuckets/2 and kBuckets once it has filled
};

// Builds a Timeline in one pass. O(1) an event, memory O(kBuckets).
class TimelineObserver final : public Observer {
  public:
    static constexpr std::size_t kBuckets = 4096;

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override;

    // The timeline so far; the last bucket may span fewer events than the others.
    Timeline take() { return std::move(timeline_); }

  private:
    void start_bucket(const OutcomeBatch& outcomes, std::size_t at);
    void halve();

    Timeline timeline_;
    std::uint64_t in_last_ = 0;  // events in the last bucket
};

}  // namespace tidemark
