// Medians, and links out of times that are made up.
#include "backends/machines/figures.h"

#include <array>
#include <cmath>

#include <catch2/catch.hpp>

#include "core/tiers/machine/machine.h"

using namespace tidemark;

namespace {

LinkSpec link_with(double bytes_per_second, Nanoseconds overhead = 0, Nanoseconds latency = 0) {
    LinkSpec link;
    link.bytes_per_second = bytes_per_second;
    link.overhead = overhead;
    link.latency = latency;
    return link;
}

// The times that copies over `link` take on a clock that adds `constant` to each timing.
CopyTimes times_of(const LinkSpec& link, Nanoseconds constant) {
    return {.less = 64_MiB,
            .more = 1_GiB,
            .less_time = transfer_time(link, 64_MiB) + link.latency + constant,
            .more_time = transfer_time(link, 1_GiB) + link.latency + constant,
            .small = 64_KiB,
            .each = static_cast<double>(transfer_time(link, 64_KiB)),
            .single = transfer_time(link, 64_KiB) + link.latency};
}

}  // namespace

TEST_CASE("A figure is the median of its runs, with the least and the most", "[machine][figures]") {
    const Figure odd = figure_of({5, 1, 100});
    CHECK(odd.median == 5);
    CHECK(odd.least == 1);
    CHECK(odd.most == 100);
    CHECK(odd.runs == 3);
    CHECK(figure_of({4, 1, 2, 3}).median == 2.5);
    CHECK(figure_of({7}).spread() == 0);
    CHECK(figure_of({98, 100, 103}).spread() == Approx(0.05));
    CHECK(figure_of({0, 0, 9}).spread() == 0);
    CHECK(figure_of({}).runs == 0);
}

TEST_CASE("A spread is told with the runs that it is of", "[machine][figures]") {
    CHECK(spread_text(figure_of({98, 100, 103})) == "3 runs, spread 5.0 %");
    CHECK(spread_text(figure_of({0, 0, 5})) == "3 runs, most of them 0");
    CHECK(spread_text(figure_of({0, 0})) == "2 runs, spread 0.0 %");
    CHECK(spread_text(figure_of({98})) == "1 run, spread 0.0 %");
}

TEST_CASE("A link's figures come out of its times as they went in", "[machine][figures]") {
    for (const double bandwidth : {1e8, 12.5e9, 55.451e9, 450e9}) {
        for (const Nanoseconds overhead : {0, 900, 5000}) {
            for (const Nanoseconds latency : {0, 700, 30'000}) {
                CAPTURE(bandwidth, overhead, latency);
                const LinkSpec link = link_with(bandwidth, overhead, latency);

                const auto sample = link_sample(times_of(link, 12'345));

                REQUIRE(sample);
                CHECK(sample->bytes_per_second == Approx(bandwidth).epsilon(1e-6));
                CHECK(std::abs(sample->overhead - static_cast<double>(overhead)) < 2);
                CHECK(std::abs(sample->latency - static_cast<double>(latency)) < 4);
            }
        }
    }
}

TEST_CASE("Noise makes no overhead or latency below zero", "[machine][figures]") {
    CopyTimes times = times_of(link_with(50e9), 0);
    times.each -= 100;
    times.single -= 1000;

    const auto sample = link_sample(times);

    REQUIRE(sample);
    CHECK(sample->overhead == 0);
    CHECK(sample->latency == 0);
}

TEST_CASE("Times that tell no bandwidth give none", "[machine][figures]") {
    CopyTimes times = times_of(link_with(50e9), 0);
    times.more_time = times.less_time;
    CHECK_FALSE(link_sample(times));

    times = times_of(link_with(50e9), 0);
    times.more = times.less;
    CHECK_FALSE(link_sample(times));
}

TEST_CASE("Links share a bus if together they get less than their sum", "[machine][figures]") {
    constexpr std::array alone{50e9, 40e9};

    CHECK(bus_bandwidth(90e9, alone) == 0);
    CHECK(bus_bandwidth(93e9, alone) == 0);  // more than the sum: noise
    CHECK(bus_bandwidth(86e9, alone) == 0);  // within 5 %
    CHECK(bus_bandwidth(80e9, alone) == 80e9);
    CHECK(bus_bandwidth(50e9, alone) == 50e9);
    CHECK(bus_bandwidth(30e9, alone) == 50e9);  // no less than one of them gets
    CHECK(bus_bandwidth(0, alone) == 0);        // not measured
}
