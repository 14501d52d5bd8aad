// Paired: the exact test against counting by hand, the interval against what it promises, and how
// many more traces it takes.
#include "replay/analysis/compare/paired.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "replay/analysis/compare/pareto.h"
#include "replay/analysis/compare/verdict.h"

namespace tidemark {
namespace {

// About normal: the sum of twelve uniform ones.
double noise(Random& random) {
    double sum = -6;
    for (int i = 0; i < 12; ++i)
        sum += random.unit();
    return sum;
}

std::vector<double> sample(std::uint64_t seed, std::size_t count, double mean, double deviation) {
    Random random(seed);
    std::vector<double> values(count);
    for (double& value : values)
        value = mean + deviation * noise(random);
    return values;
}

TEST_CASE("the exact test counts exchanges: one sign in n traces is 2 of 2^n", "[compare]") {
    for (std::size_t n = 2; n <= 10; ++n) {
        std::vector<double> values;
        for (std::size_t i = 0; i < n; ++i)
            values.push_back(-0.1 - 0.01 * static_cast<double>(i));
        const PairedEffect effect = paired_effect(values);
        CHECK(effect.p == Approx(2 / std::pow(2.0, static_cast<double>(n))));
        CHECK(effect.is_exact);
        CHECK((effect.answer == PairedAnswer::less) == (n >= 6));
        CHECK((effect.more_traces.value_or(0) == 6 - std::min<std::size_t>(n, 6)));
    }
    // 1, 1 and -1: six of eight exchanges have a sum of 1 in size, two one of 3.
    CHECK(paired_effect(std::vector<double>{1, 1, -1}).p == 1);
    CHECK(paired_effect(std::vector<double>{3, 2, -1}).p == 0.5);
}

TEST_CASE("an effect is the geometric mean, and its sign the answer", "[compare]") {
    const std::vector<double> less(8, std::log(0.88));
    const PairedEffect effect = paired_effect(less);
    CHECK(effect.effect == Approx(-0.12));
    CHECK(effect.low == Approx(-0.12));
    CHECK(effect.high == Approx(-0.12));
    CHECK(effect.answer == PairedAnswer::less);
    const std::vector<double> more(8, std::log(1.25));
    CHECK(paired_effect(more).effect == Approx(0.25));
    CHECK(paired_effect(more).answer == PairedAnswer::more);
}

TEST_CASE("less than one per cent either way is the same", "[compare]") {
    CHECK(paired_effect(std::vector<double>{0, 0}).answer == PairedAnswer::same);
    CHECK(paired_effect(sample(1, 12, 0, 0.002)).answer == PairedAnswer::same);
    CHECK_FALSE(paired_effect(sample(1, 12, 0, 0.002)).more_traces);
}

TEST_CASE("what is unclear says how many more traces would tell, and so many do", "[compare]") {
    const PairedEffect few = paired_effect(sample(5, 7, -0.05, 0.1));
    REQUIRE(few.answer == PairedAnswer::unclear);
    REQUIRE(few.more_traces);
    std::size_t found = 0;
    const std::size_t enough = few.traces + *few.more_traces;
    const double seen = std::log(1 + few.effect);
    const std::vector<double> first = sample(5, 7, -0.05, 0.1);
    double square = 0;
    for (const double value : first)
        square += (value - seen) * (value - seen);
    const double deviation = std::sqrt(square / static_cast<double>(first.size() - 1));
    for (std::uint64_t seed = 100; seed < 120; ++seed)
        found +=
            paired_effect(sample(seed, enough, seen, deviation)).answer == PairedAnswer::unclear
                ? 0U
                : 1U;
    CHECK(found >= 12);  // four of five are promised
}

TEST_CASE("the interval holds the truth in about nineteen of twenty samples", "[compare]") {
    std::size_t inside = 0;
    constexpr std::size_t kSamples = 100;
    for (std::uint64_t seed = 1; seed <= kSamples; ++seed) {
        const PairedEffect effect = paired_effect(sample(seed, 20, std::log(0.9), 0.05));
        inside += effect.low <= -0.1 && -0.1 <= effect.high ? 1U : 0U;
    }
    CHECK(inside >= 88);
    CHECK(inside < kSamples);
}

TEST_CASE("by chance alone an effect is found in about one of twenty samples", "[compare]") {
    for (const std::size_t traces : {8U, 30U}) {
        std::size_t found = 0;
        for (std::uint64_t seed = 1; seed <= 100; ++seed) {
            const PairedEffect effect = paired_effect(sample(seed, traces, 0, 0.2));
            CHECK(effect.is_exact == (traces <= 16));
            found += effect.p < 0.05 ? 1U : 0U;
        }
        INFO(traces);
        CHECK(found <= 12);
    }
}

TEST_CASE("signed ranks find what the exact test finds", "[compare]") {
    // 17 traces, the first count for ranks; their p is that of tables: W = 0 gives 0.0003.
    const PairedEffect effect = paired_effect(sample(3, 17, -0.5, 0.05));
    CHECK_FALSE(effect.is_exact);
    CHECK(effect.p == Approx(0.0003).margin(0.0001));
    CHECK(effect.answer == PairedAnswer::less);
    CHECK(paired_effect(std::vector<double>(20, 0.0)).p == 1);
}

TEST_CASE("a paired verdict says effect, interval, traces and price", "[compare]") {
    PairedEffect effect{.traces = 7, .effect = -0.12, .low = -0.15, .high = -0.09};
    effect.answer = PairedAnswer::less;
    CHECK(verdict(effect, {103, 100}, {"vpmm", "torch"}) ==
          "vpmm needs 12 % less [9, 15] than torch on these 7 traces; it costs 3.0 % more driver "
          "time");
    effect.answer = PairedAnswer::unclear;
    effect.high = 0.02;
    effect.more_traces = 3;
    CHECK(verdict(effect, {50, 100}, {"vpmm", "torch"}) ==
          "these 7 traces do not say whether vpmm needs less than torch: 12 % less [-2, 15]; with "
          "about 3 more like them they would; it costs 50 % less driver time");
    effect = {.traces = 6, .effect = 0.001, .low = -0.002, .high = 0.004};
    effect.answer = PairedAnswer::same;
    CHECK(verdict(effect, {100, 100}, {"vpmm", "torch"}) ==
          "vpmm needs as much as torch on these 6 traces: 0.1 % more [-0.2, 0.4]; it costs the "
          "same driver time");
}

TEST_CASE("the front is what nothing beats in memory and driver time", "[compare]") {
    const std::vector<MemoryAndTime> points{{10, 100}, {20, 50},      {20, 60}, {30, 50},
                                            {5, 500},  {1, 1, false}, {10, 100}};
    CHECK(pareto_front(points) == std::vector<bool>{true, true, false, false, true, false, true});
    CHECK(pareto_front({}).empty());
}

}  // namespace
}  // namespace tidemark
