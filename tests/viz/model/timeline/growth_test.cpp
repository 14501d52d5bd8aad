// Growth of living programs: a training's teeth are none, a leak below them is one, and how long
// the memory lasts is said only where it is known.
#include "viz/model/timeline/growth.h"

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/small_history.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::SmallHistory;

namespace {

constexpr Nanoseconds kMilli = 1'000'000;
constexpr Nanoseconds kOneSecond = 1000 * kMilli;

// A training: `live` MiB always, `blocks` more of `size` that rise over each step and fall at its
// end, and after every step `leak` more that stay.
struct Training {
    Nanoseconds step = 2 * kOneSecond;
    Nanoseconds length = 180 * kOneSecond;
    Bytes leak = 0;
    bool has_steps = false;
    std::uint64_t seed = 0;  // 0: all steps are the same
};

std::shared_ptr<const History> history_of(const Training& training) {
    constexpr std::uint64_t kTooth = 10;
    constexpr Bytes kPiece = 64_MiB;
    SmallHistory sample;
    Random random(training.seed);
    sample.segment(0x10000, 1_GiB);
    sample.allocate(1, 256_MiB);
    std::uint64_t id = 2;
    std::uint64_t number = 0;
    for (Nanoseconds at = kMilli; at < training.length; at += training.step) {
        const std::string name = "step " + std::to_string(number++);
        const std::uint64_t first = id;
        const std::uint64_t pieces = training.seed == 0 ? kTooth : 2 + random.below(kTooth);
        sample.at(at);
        if (training.has_steps)
            sample.begin(name);
        for (std::uint64_t i = 0; i < pieces; ++i)
            sample.at(at + training.step * static_cast<Nanoseconds>(i + 1) / 12)
                .allocate(id++, kPiece);
        sample.at(at + training.step * 11 / 12);
        for (std::uint64_t i = first; i < first + pieces; ++i)
            sample.free(i);
        if (training.leak > 0)
            sample.allocate(id++, training.leak);
        if (training.has_steps)
            sample.end(name);
    }
    return sample.build();
}

RunGrowth growth_at(const Training& training, Nanoseconds now) {
    const auto history = history_of(training);
    StepIndex steps;
    steps.follow(history, 1U << 20U);
    const auto growth = growth_of(*history, steps, now);
    REQUIRE(growth);
    return *growth;
}

double mib(double bytes) {
    return bytes / static_cast<double>(1_MiB);
}

}  // namespace

TEST_CASE("a sawtooth is no growth, whatever its period and wherever one looks", "[viz][growth]") {
    for (const bool has_steps : {false, true})
        for (const Nanoseconds step :
             {200 * kMilli, 3 * kOneSecond, 7 * kOneSecond, 20 * kOneSecond, 45 * kOneSecond})
            for (const std::uint64_t seed : {0U, 1U, 2U}) {
                const Training training{
                    .step = step, .length = 240 * kOneSecond, .has_steps = has_steps, .seed = seed};
                const auto history = history_of(training);
                StepIndex steps;
                steps.follow(history, 1U << 20U);
                for (Nanoseconds now = 150 * kOneSecond; now < training.length;
                     now += 7 * kOneSecond) {
                    INFO("step " << step << ", now " << now << ", with steps " << has_steps
                                 << ", seed " << seed);
                    const auto growth = growth_of(*history, steps, now);
                    REQUIRE(growth);
                    CHECK_FALSE(growth->of(Series::allocated).certain);
                    CHECK_FALSE(growth->of(Series::reserved).certain);
                }
            }
}

TEST_CASE("a leak under a sawtooth is growth, at its rate", "[viz][growth]") {
    for (const bool has_steps : {false, true})
        for (const std::uint64_t seed : {0U, 3U}) {
            const RunGrowth growth =
                growth_at({.leak = 4_MiB, .has_steps = has_steps, .seed = seed}, 170 * kOneSecond);
            INFO("with steps " << has_steps << ", seed " << seed);
            const Growth& allocated = growth.of(Series::allocated);
            CHECK(allocated.certain);
            CHECK(mib(allocated.per_minute.middle) == Approx(30 * 4).epsilon(0.1));
            CHECK(allocated.per_minute.least <= allocated.per_minute.middle);
            CHECK(allocated.per_minute.middle <= allocated.per_minute.most);
            CHECK_FALSE(growth.of(Series::reserved).certain);
            CHECK(growth.steps == (has_steps ? 30U : 0U));
        }
}

TEST_CASE("a single jump is no growth", "[viz][growth]") {
    SmallHistory sample;
    for (int second = 0; second < 120; ++second) {
        sample.at(second * kOneSecond);
        if (second == 80)
            sample.allocate(1, 1_GiB);
        else
            sample.idle();
    }
    const auto growth = growth_of(*sample.build(), {}, 119 * kOneSecond);
    REQUIRE(growth);
    CHECK_FALSE(growth->of(Series::allocated).certain);
}

TEST_CASE("what rises to where it has been before is no growth", "[viz][growth]") {
    SmallHistory sample;
    for (std::uint64_t second = 0; second < 300; ++second) {
        sample.at(static_cast<Nanoseconds>(second) * kOneSecond);
        if (second == 150)  // it was evaluated
            for (std::uint64_t i = 0; i < 150; ++i)
                sample.free(i);
        else
            sample.allocate(second, 1_MiB);
    }
    const auto history = sample.build();
    const auto first = growth_of(*history, {}, 140 * kOneSecond);
    const auto again = growth_of(*history, {}, 250 * kOneSecond);
    REQUIRE(first);
    REQUIRE(again);
    CHECK(first->of(Series::allocated).certain);
    CHECK(mib(first->of(Series::allocated).per_minute.middle) == Approx(60).epsilon(0.05));
    CHECK(mib(again->of(Series::allocated).per_minute.middle) == Approx(60).epsilon(0.05));
    CHECK_FALSE(again->of(Series::allocated).certain);
}

TEST_CASE("a young program's growth is since its start, and nothing is said of seconds",
          "[viz][growth]") {
    SmallHistory sample;
    for (std::uint64_t i = 0; i < 200; ++i)
        sample.at(static_cast<Nanoseconds>(i) * 100 * kMilli).allocate(i, 1_MiB);
    const auto history = sample.build();
    CHECK_FALSE(growth_of(*history, {}, 2 * kOneSecond));
    const auto growth = growth_of(*history, {}, 20 * kOneSecond);
    REQUIRE(growth);
    CHECK(growth->since_start);
    CHECK(basis_text(*growth) == "since the start, 20.0 s");
    CHECK(mib(growth->of(Series::allocated).per_minute.middle) == Approx(600).epsilon(0.05));
    CHECK_FALSE(growth_of(*SmallHistory().build(), {}, 20 * kOneSecond));
}

TEST_CASE("how long memory lasts is a range, or isn't said", "[viz][growth]") {
    const auto grows = [](double least, double middle, double most) {
        const auto rate = [](double size) { return size * static_cast<double>(1_GiB); };
        return Growth{{rate(middle), rate(least), rate(most)}, true};
    };
    CHECK(to_text(*time_left(grows(1, 1.1, 1.25), 15_GiB)) == "in 12 to 15 min");
    CHECK(to_text(*time_left(grows(1, 1, 1), 14_GiB)) == "in about 14 min");
    CHECK(to_text(*time_left(grows(10, 11, 12), 10_GiB)) == "in 50 to 60 s");
    CHECK(to_text(*time_left(grows(1, 1, 1.1), 300_GiB)) == "in about 5 h");
    CHECK(to_text(*time_left(grows(1, 1, 1), 0)) == "in about 1 s");
    CHECK_FALSE(time_left(grows(1, 2, 4), 15_GiB));
    CHECK_FALSE(time_left(grows(0.0001, 0.0001, 0.0001), 80_GiB));
    Growth uncertain = grows(1, 1, 1);
    uncertain.certain = false;
    CHECK_FALSE(time_left(uncertain, 15_GiB));
}
