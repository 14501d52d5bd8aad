// Timelines: whatever the length of a run, a few thousand buckets that hold its extremes.
#include "replay/timeline/timeline.h"

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/replay/metrics/batches.h"

namespace tidemark {
namespace {

using support::show;
using support::Step;

constexpr std::size_t kBuckets = TimelineObserver::kBuckets;

// Random levels; event `i` is at time 10 * i.
std::vector<Step> random_steps(std::size_t count) {
    Random random(count);
    std::vector<Step> steps(count);
    for (std::size_t i = 0; i < count; ++i) {
        steps[i].time = static_cast<Nanoseconds>(10 * i);
        steps[i].reserved = random.below(1000);
        steps[i].allocated = random.below(1000);
        steps[i].requested = random.below(1000);
    }
    return steps;
}

Timeline timeline_of(const std::vector<Step>& steps, std::size_t batch) {
    TimelineObserver observer;
    show(observer, steps, batch);
    return observer.take();
}

// Compares every bucket with the extremes of the events that it should span.
void check_buckets(const Timeline& timeline, const std::vector<Step>& steps) {
    const std::size_t span = timeline.events_per_bucket;
    REQUIRE(timeline.buckets.size() == (steps.size() + span - 1) / span);
    for (std::size_t b = 0; b < timeline.buckets.size(); ++b) {
        TimelineBucket expected{.allocated_min = steps[b * span].allocated};
        for (std::size_t i = b * span; i < std::min((b + 1) * span, steps.size()); ++i) {
            expected.time = steps[i].time;
            expected.reserved_max = std::max(expected.reserved_max, steps[i].reserved);
            expected.allocated_max = std::max(expected.allocated_max, steps[i].allocated);
            expected.allocated_min = std::min(expected.allocated_min, steps[i].allocated);
            expected.requested_max = std::max(expected.requested_max, steps[i].requested);
        }
        const TimelineBucket& actual = timeline.buckets[b];
        REQUIRE(actual.time == expected.time);
        REQUIRE(actual.reserved_max == expected.reserved_max);
        REQUIRE(actual.allocated_max == expected.allocated_max);
        REQUIRE(actual.allocated_min == expected.allocated_min);
        REQUIRE(actual.requested_max == expected.requested_max);
    }
}

TEST_CASE("a short run has one bucket an event", "[timeline]") {
    const std::vector<Step> steps = random_steps(kBuckets);
    const Timeline timeline = timeline_of(steps, 1000);
    CHECK(timeline.events_per_bucket == 1);
    check_buckets(timeline, steps);
}

TEST_CASE("neighbours are joined when one event more comes than there are buckets", "[timeline]") {
    const std::vector<Step> steps = random_steps(kBuckets + 1);
    const Timeline timeline = timeline_of(steps, 1000);
    CHECK(timeline.events_per_bucket == 2);
    check_buckets(timeline, steps);
}

TEST_CASE("a timeline is the same whatever the size of the batches", "[timeline]") {
    const std::vector<Step> steps = random_steps(9 * kBuckets + 5);
    for (const std::size_t batch : {1U, 7U, 4096U, 100'000U}) {
        const Timeline timeline = timeline_of(steps, batch);
        CHECK(timeline.events_per_bucket == 16);
        check_buckets(timeline, steps);
    }
}

TEST_CASE("a run without events has an empty timeline", "[timeline]") {
    CHECK(timeline_of({}, 1).buckets.empty());
}

}  // namespace
}  // namespace tidemark
