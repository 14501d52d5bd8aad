// Timeline: see the header. Works a bucket's share of a batch at a time, so that the inner loop
// only compares.
#include "replay/timeline/timeline.h"

#include <algorithm>

namespace tidemark {
namespace {

// Widens `bucket` by the events [begin, end) of a batch.
void widen(TimelineBucket& bucket, const OutcomeBatch& outcomes, std::size_t begin,
           std::size_t end) {
    TimelineBucket wider = bucket;
    for (std::size_t i = begin; i < end; ++i) {
        const Usage& usage = outcomes.usage[i];
        if (usage.reserved > wider.reserved_max) [[unlikely]]
            wider.reserved_max = usage.reserved;
        if (usage.allocated > wider.allocated_max) [[unlikely]]
            wider.allocated_max = usage.allocated;
        if (usage.allocated < wider.allocated_min) [[unlikely]]
            wider.allocated_min = usage.allocated;
        if (outcomes.requested[i] > wider.requested_max) [[unlikely]]
            wider.requested_max = outcomes.requested[i];
    }
    wider.time = std::max(wider.time, outcomes.time[end - 1]);
    bucket = wider;
}

TimelineBucket joined(const TimelineBucket& a, const TimelineBucket& b) {
    return {
        .time = std::max(a.time, b.time),
        .reserved_max = std::max(a.reserved_max, b.reserved_max),
        .allocated_max = std::max(a.allocated_max, b.allocated_max),
        .allocated_min = std::min(a.allocated_min, b.allocated_min),
        .requested_max = std::max(a.requested_max, b.requested_max),
    };
}

}  // namespace

void TimelineObserver::on_events(const EventBatch& events, const OutcomeBatch& outcomes) {
    std::size_t at = 0;
    while (at < events.count) {
        if (timeline_.buckets.empty() || in_last_ == timeline_.events_per_bucket)
            start_bucket(outcomes, at);
        const std::uint64_t room = timeline_.events_per_bucket - in_last_;
        const std::size_t taken = std::min<std::uint64_t>(room, events.count - at);
        widen(timeline_.buckets.back(), outcomes, at, at + taken);
        in_last_ += taken;
        at += taken;
    }
}

// A new bucket, of which the event `at` will be the first.
void TimelineObserver::start_bucket(const OutcomeBatch& outcomes, std::size_t at) {
    if (timeline_.buckets.size() == kBuckets)
        halve();
    timeline_.buckets.push_back({.allocated_min = outcomes.usage[at].allocated});
    in_last_ = 0;
}

// Joins neighbours. All kBuckets buckets are full, and their number is even.
void TimelineObserver::halve() {
    static_assert(kBuckets % 2 == 0);
    auto& buckets = timeline_.buckets;
    for (std::size_t i = 0; i < kBuckets / 2; ++i)
        buckets[i] = joined(buckets[2 * i], buckets[2 * i + 1]);
    buckets.resize(kBuckets / 2);
    timeline_.events_per_bucket *= 2;
}

}  // namespace tidemark
