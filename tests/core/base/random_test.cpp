// Random and Stopwatch: the two places where chance and time come from.
#include "core/base/random.h"

#include <catch2/catch.hpp>

#include "core/base/stopwatch.h"

namespace tidemark {
namespace {

TEST_CASE("random numbers are those of splitmix64", "[base][random]") {
    Random random(1234567);

    CHECK(random.next() == 6457827717110365317U);
    CHECK(random.next() == 3203168211198807973U);
    CHECK(random.next() == 9817491932198370423U);
}

TEST_CASE("random numbers stay below their bound and reach all of it", "[base][random]") {
    Random random(7);
    unsigned seen = 0;

    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t number = random.below(8);
        REQUIRE(number < 8);
        seen |= 1U << number;
    }

    CHECK(seen == 0xffU);
}

TEST_CASE("random fractions lie between zero and one", "[base][random]") {
    Random random(7);
    double sum = 0;

    for (int i = 0; i < 1000; ++i) {
        const double fraction = random.unit();
        REQUIRE(fraction >= 0);
        REQUIRE(fraction < 1);
        sum += fraction;
    }

    CHECK(sum / 1000 == Approx(0.5).margin(0.05));
}

TEST_CASE("a stopwatch never goes back", "[base][stopwatch]") {
    const Stopwatch stopwatch;
    Nanoseconds last = 0;

    for (int i = 0; i < 1000; ++i) {
        const Nanoseconds now = stopwatch.elapsed();
        REQUIRE(now >= last);
        last = now;
    }
}

}  // namespace
}  // namespace tidemark
