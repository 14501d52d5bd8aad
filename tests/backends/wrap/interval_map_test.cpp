// Intervals against a map of single addresses.
#include "backends/wrap/interval_map.h"

#include <map>

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;

namespace {

using Cells = std::map<std::uint64_t, int>;

Cells cells(const IntervalMap<int>& intervals, Range range) {
    Cells result;
    std::uint64_t end = 0;
    intervals.for_each(range, [&](Range part, int value) {
        REQUIRE(to_integer(part.begin) >= end);
        end = to_integer(part.begin) + part.size;
        for (Bytes i = 0; i < part.size; ++i)
            result[to_integer(part.begin) + i] = value;
    });
    return result;
}

}  // namespace

TEST_CASE("an interval map is a map of its single addresses") {
    IntervalMap<int> intervals;
    Cells model;
    Random random(5);
    for (int step = 0; step < 5000; ++step) {
        const Range range{Address{random.below(100)}, random.below(20)};
        const std::uint64_t first = to_integer(range.begin);
        const int value = static_cast<int>(random.below(4));
        switch (random.below(4)) {
            case 0:
            case 1:
                intervals.assign(range, value);
                for (Bytes i = 0; i < range.size; ++i)
                    model[first + i] = value;
                break;
            case 2:
                intervals.erase(range);
                model.erase(model.lower_bound(first), model.lower_bound(first + range.size));
                break;
            default:
                intervals.erase_if(range, [&](Range, int found) { return found == value; });
                for (Bytes i = 0; i < range.size; ++i) {
                    const auto cell = model.find(first + i);
                    if (cell != model.end() && cell->second == value)
                        model.erase(cell);
                }
        }
        REQUIRE(cells(intervals, {Address{0}, 200}) == model);
        const Cells expected(model.lower_bound(first), model.lower_bound(first + range.size));
        REQUIRE(cells(intervals, range) == expected);
    }
}

TEST_CASE("a sweep drops values and joins equal neighbours") {
    IntervalMap<int> intervals;
    intervals.assign({Address{0}, 10}, 1);
    intervals.assign({Address{10}, 10}, 1);
    intervals.assign({Address{20}, 10}, 2);
    intervals.assign({Address{30}, 10}, 1);
    intervals.assign({Address{50}, 10}, 1);
    const Cells before = cells(intervals, {Address{0}, 100});
    intervals.sweep([](int) { return false; }, [](int a, int b) { return a == b; });
    CHECK(intervals.count() == 4);
    CHECK(cells(intervals, {Address{0}, 100}) == before);
    intervals.sweep([](int value) { return value == 2; }, [](int, int) { return false; });
    CHECK(intervals.count() == 3);
    CHECK(cells(intervals, {Address{20}, 10}).empty());
}
