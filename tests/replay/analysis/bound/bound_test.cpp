// bound: packings are packings, as low as any of tiny instances, and the same for every number of
// threads.
#include "replay/analysis/bound/bound.h"

#include <algorithm>
#include <numeric>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "core/capture/packing_csv.h"
#include "replay/analysis/bound/capacity_search.h"
#include "replay/analysis/bound/check_packing.h"
#include "replay/analysis/bound/moments.h"
#include "replay/analysis/bound/ordered_fit.h"
#include "replay/analysis/bound/trace_intervals.h"
#include "tests/support/vector_trace.h"

namespace tidemark {
namespace {

std::vector<Interval> random_intervals(Random& random, std::size_t count, std::uint64_t times) {
    std::vector<Interval> intervals(count);
    for (Interval& interval : intervals) {
        interval.begin = static_cast<std::int64_t>(random.below(times));
        interval.end = interval.begin + 1 + static_cast<std::int64_t>(random.below(times));
        interval.size = 1 + random.below(9);
    }
    return intervals;
}

bool meet(const Interval& a, const Interval& b) {
    return a.begin < b.end && b.begin < a.end;
}

// A packing that cannot be pushed down comes of placing by ascending offset, each upon one that it
// meets: all orders have it among them.
Bytes least_height(const std::vector<Interval>& intervals) {
    std::vector<std::size_t> order(intervals.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Bytes least = ~Bytes{0};
    do {
        std::vector<Bytes> top(intervals.size());
        Bytes height = 0;
        for (std::size_t at = 0; at < order.size(); ++at) {
            Bytes offset = 0;
            for (std::size_t before = 0; before < at; ++before)
                if (meet(intervals[order[before]], intervals[order[at]]))
                    offset = std::max(offset, top[order[before]]);
            top[order[at]] = offset + intervals[order[at]].size;
            height = std::max(height, top[order[at]]);
        }
        least = std::min(least, height);
    } while (std::next_permutation(order.begin(), order.end()));
    return least;
}

bool has_clash(const std::vector<Interval>& intervals, const std::vector<Bytes>& offsets) {
    for (std::size_t a = 0; a < intervals.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (meet(intervals[a], intervals[b]) && offsets[a] < offsets[b] + intervals[b].size &&
                offsets[b] < offsets[a] + intervals[a].size)
                return true;
    return false;
}

}  // namespace

TEST_CASE("tiny instances are packed as low as any order packs them", "[analysis][bound]") {
    Random random(1);
    for (int i = 0; i < 60; ++i) {
        const std::vector<Interval> intervals = random_intervals(random, 7, 6);
        const Bytes least = least_height(intervals);
        const Bound bound = find_bound(intervals, {.iterations = 30, .threads = 1}).value();
        CHECK(bound.packing.height == least);
        CHECK(bound.lower <= least);
        CHECK_FALSE(has_clash(intervals, bound.packing.offsets));
    }
}

TEST_CASE("the search for a capacity finds a packing exactly where there is one",
          "[analysis][bound]") {
    Random random(2);
    for (int i = 0; i < 60; ++i) {
        const std::vector<Interval> intervals = random_intervals(random, 7, 6);
        const Moments moments = find_moments(intervals);
        const Bytes least = least_height(intervals);
        for (const auto by : {FirstBy::lifetime, FirstBy::area, FirstBy::size, FirstBy::moments}) {
            std::vector<double> failures(moments.load.size(), 1);
            const CapacityAttempt enough{.capacity = least, .first_by = by, .steps = 100'000};
            const CapacityAttempt less{.capacity = least - 1, .first_by = by, .steps = 100'000};
            const auto found = search_capacity(intervals, moments, enough, failures);
            REQUIRE(found);
            CHECK(found->height <= least);
            CHECK_FALSE(has_clash(intervals, found->offsets));
            CHECK_FALSE(search_capacity(intervals, moments, less, failures));
        }
    }
}

TEST_CASE("the check of packings finds what comparing all pairs finds", "[analysis][bound]") {
    Random random(3);
    int clashes = 0;
    for (int i = 0; i < 300; ++i) {
        const std::vector<Interval> intervals = random_intervals(random, 6, 20);
        std::vector<Bytes> offsets(intervals.size());
        for (Bytes& offset : offsets)
            offset = random.below(80);
        const bool clash = has_clash(intervals, offsets);
        clashes += clash ? 1 : 0;
        CHECK(find_clash(intervals, offsets).has_value() == clash);
    }
    CHECK(clashes > 50);
    CHECK(clashes < 250);
}

TEST_CASE("every heuristic packs", "[analysis][bound]") {
    Random random(4);
    for (const std::uint64_t times : {10U, 500U, 20'000U}) {
        const std::vector<Interval> intervals = random_intervals(random, 2000, times);
        const Moments moments = find_moments(intervals);
        std::vector<std::uint32_t> order(intervals.size());
        std::iota(order.begin(), order.end(), 0U);
        for (std::size_t i = order.size() - 1; i > 0; --i)
            std::swap(order[i], order[random.below(i + 1)]);
        const Packing ordered = pack_in_order(intervals, moments, order, {});
        const Packing timed = pack_in_time(intervals);
        CHECK_FALSE(has_clash(intervals, ordered.offsets));
        CHECK_FALSE(has_clash(intervals, timed.offsets));
        CHECK(ordered.height >= moments.peak_load());
        CHECK(timed.height >= moments.peak_load());
    }
}

TEST_CASE("a bound is the same on any number of threads", "[analysis][bound]") {
    Random random(5);
    const std::vector<Interval> intervals = random_intervals(random, 120, 60);
    const Bound one = find_bound(intervals, {.iterations = 3, .threads = 1}).value();
    const Bound four = find_bound(intervals, {.iterations = 3, .threads = 4}).value();
    CHECK(one.packing.offsets == four.packing.offsets);
    CHECK(one.iterations == four.iterations);
}

TEST_CASE("what nothing proves is not said", "[analysis][bound]") {
    const Bound bound{.lower = 10, .packing = {.offsets = {}, .height = 12}};
    CHECK(bound.fits(12) == true);
    CHECK(bound.fits(9) == false);
    CHECK(bound.fits(11) == std::nullopt);
}

TEST_CASE("intervals that cannot be are refused", "[analysis][bound]") {
    CHECK_FALSE(find_bound(std::vector<Interval>{{3, 3, 1}}, {}));
    CHECK_FALSE(find_bound(std::vector<Interval>{{0, 1, ~Bytes{0}}}, {}));
    CHECK(find_bound({}, {}).value().packing.height == 0);
}

TEST_CASE("a plan is read as it was written", "[analysis][bound]") {
    const std::vector<Interval> intervals{{-3, 5, 7}, {5, 6, 0}};
    const std::vector<std::string> ids{"a", "b"};
    const std::string text = packing_csv(ids, intervals, std::vector<Bytes>{0, 7});
    CHECK(is_packing_csv(text));
    const NamedIntervals read = read_packing_csv(text, "plan.csv").value();
    CHECK(read.ids == ids);
    REQUIRE(read.intervals.size() == 2);
    CHECK(read.intervals[0].begin == -3);
    CHECK(read.intervals[0].end == 5);
    CHECK(read.intervals[0].size == 7);
    CHECK_FALSE(is_packing_csv("Thread,Time,Action\n"));
    for (const char* bad : {"lower,upper,size\n1,2\n", "lower,upper,size\n2,2,1\n",
                            "lower,upper,size\n1,2,-1\n", "lower,upper,size,alignment\n1,2,3,4\n"})
        CHECK_FALSE(read_packing_csv(bad, "bad.csv"));
}

TEST_CASE("a trace's memory is in use until the device is done with it", "[analysis][bound]") {
    TraceInfo info;
    const support::VectorTrace trace({{.size = 1000, .slot = 0},
                                      {.slot = 0, .kind = EventKind::retire},
                                      {.size = 512, .slot = 1},
                                      {.slot = 0, .kind = EventKind::finish},
                                      {.size = 0, .slot = 0}},
                                     info);
    const std::vector<DeviceIntervals> devices = trace_intervals(trace, 512).value();
    REQUIRE(devices.size() == 1);
    CHECK(devices[0].events == std::vector<std::uint64_t>{0, 2});
    CHECK(devices[0].intervals[0].end == 3);
    CHECK(devices[0].intervals[0].size == 1024);
    CHECK(devices[0].intervals[1].end == 5);
}

}  // namespace tidemark
