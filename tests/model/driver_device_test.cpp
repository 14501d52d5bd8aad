// The scripted driver and the device over it: what is logged, what is refused, what is misuse.
#include "tests/model/driver_device.h"

#include <catch2/catch.hpp>

namespace tidemark::model {
namespace {

constexpr Location kHere{Location::Kind::device, 0};

// Maps `count` pages of 2 MiB from `begin` on.
void map_pages(DriverDevice& device, Address begin, Bytes count) {
    for (Bytes i = 0; i < count; ++i) {
        const auto physical = device.create(kHere, 2_MiB);
        REQUIRE(physical);
        REQUIRE(device.map({begin + i * 2_MiB, 2_MiB}, *physical));
        REQUIRE(device.release(*physical));
    }
}

}  // namespace

TEST_CASE("a run of pages is logged when access is granted, not when it is mapped", "[model]") {
    DriverDevice device({.capacity = 64_MiB});
    const Range range = *device.reserve(20_MiB);
    device.driver().clear_effects();
    map_pages(device, range.begin, 3);
    CHECK(device.driver().effects().empty());

    SECTION("granted") {
        const Range run{range.begin, 6_MiB};
        REQUIRE(device.set_access(run, true));
        REQUIRE(device.unmap(run));
        CHECK(device.driver().effects() == std::vector<Effect>{{Effect::Kind::segment_map, run},
                                                               {Effect::Kind::segment_unmap, run}});
    }
    SECTION("taken back before") {
        REQUIRE(device.unmap({range.begin, 6_MiB}));
        CHECK(device.driver().effects().empty());
    }
    CHECK(device.driver().used() == 0);
    CHECK(device.misuse().empty());
}

TEST_CASE("the driver refuses what its script and its capacity say", "[model]") {
    Driver driver({.capacity = 20_MiB});
    driver.take_by_others(8_MiB);
    CHECK_FALSE(driver.segment_alloc(14_MiB));
    driver.begin_refusal(1, 1);
    CHECK(driver.take(2_MiB));
    CHECK_FALSE(driver.take(2_MiB));
    CHECK(driver.take(2_MiB));
    CHECK_FALSE(driver.map({Address{1}, 10_MiB}, 2_MiB));  // 4 of 5 pages would fit
    CHECK(driver.used() == 4_MiB);
}

TEST_CASE("work is done when the script says so, or who waits", "[model]") {
    DriverDevice device({});
    constexpr StreamId kStream{3};
    device.driver().begin_step();
    const EventId first = *device.record(kStream);
    device.driver().begin_step();
    const EventId second = *device.record(kStream);
    device.driver().finish(kStream, 50);
    CHECK(*device.complete(first));
    CHECK_FALSE(*device.complete(second));
    CHECK(device.synchronize(kStream));
    CHECK(*device.complete(second));
}

TEST_CASE("calls that no device would take are kept as misuse", "[model]") {
    DriverDevice device({});
    const Range range = *device.reserve(20_MiB);
    map_pages(device, range.begin, 2);

    SECTION("unmapping a part of a page") {
        CHECK_FALSE(device.unmap({range.begin, 1_MiB}));
    }
    SECTION("mapping twice") {
        const PhysicalId physical = *device.create(kHere, 2_MiB);
        CHECK_FALSE(device.map({range.begin + 2_MiB, 2_MiB}, physical));
    }
    SECTION("giving back a reservation with pages") {
        CHECK_FALSE(device.unreserve(range));
    }
    SECTION("freeing what is no segment") {
        CHECK_FALSE(device.free(range.begin));
    }
    SECTION("an unknown event") {
        CHECK_FALSE(device.complete(EventId{99}));
    }

    CHECK_FALSE(device.misuse().empty());
}

TEST_CASE("segments are put where the script says", "[model]") {
    Driver lowest({.placement = DriverSetup::Placement::lowest_gap});
    const Address first = *lowest.segment_alloc(4_MiB);
    const Address second = *lowest.segment_alloc(4_MiB);
    REQUIRE(lowest.segment_free(first));
    CHECK(*lowest.segment_alloc(6_MiB) == second + 4_MiB);
    CHECK(*lowest.segment_alloc(2_MiB) == first);

    Driver alternating({.placement = DriverSetup::Placement::alternating});
    const Address up = *alternating.segment_alloc(4_MiB);
    CHECK(to_integer(*alternating.segment_alloc(4_MiB)) == to_integer(up) - 4_MiB);
}

}  // namespace tidemark::model
