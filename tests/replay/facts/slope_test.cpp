// The line through samples. The same samples are held against tidemark.torch in
// tests/python/torch/test_training.py.
#include "replay/facts/slope.h"

#include <vector>

#include <catch2/catch.hpp>

namespace tidemark::facts {
namespace {

std::vector<Sample> samples_of(const std::vector<double>& values) {
    std::vector<Sample> samples;
    for (const double value : values)
        samples.push_back({static_cast<double>(samples.size()), value});
    return samples;
}

TEST_CASE("Without two moments there is no slope", "[facts]") {
    CHECK(slope_of({}).middle == 0);
    const std::vector<Sample> one_moment{{1, 5}, {1, 9}};
    CHECK(slope_of(one_moment).middle == 0);
    CHECK(slope_of(one_moment).rising == 0);
}

TEST_CASE("A line has its slope for certain", "[facts]") {
    const Slope slope = slope_of(samples_of({1, 3, 5, 7, 9, 11, 13, 15}));
    CHECK(slope.middle == 2);
    CHECK(slope.least == 2);
    CHECK(slope.most == 2);
    CHECK(slope.rising == 1);
}

TEST_CASE("One moment that differs moves the middle little", "[facts]") {
    const Slope slope = slope_of(samples_of({0, 1, 2, 300, 4, 5, 6, 7, 8, 9}));
    CHECK(slope.middle == 1);
    CHECK(slope.rising < 1);
}

TEST_CASE("The interval is Sen's, by ranks that count from one", "[facts]") {
    const Slope slope = slope_of(samples_of({3, 1, 4, 1, 5, 9, 2, 6, 5, 3}));
    CHECK(slope.middle == Approx(1.0 / 3));
    CHECK(slope.least == Approx(-2.0 / 3));
    CHECK(slope.most == Approx(1.2));
    CHECK(slope.rising == Approx(12.0 / 45));
}

}  // namespace
}  // namespace tidemark::facts
