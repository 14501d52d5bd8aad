// The counters of a space, its thresholds, and who hears of freed capacity.
#include "core/tiers/spaces/memory_space.h"

#include <vector>

#include <catch2/catch.hpp>

namespace tidemark {
namespace {

// The fixture of specs A5: 2 GiB of GPU, 4 GiB of host memory, three quarters may be reserved.
MachineSpec fixture() {
    return {.name = "fixture",
            .spaces = {{.id = {Tier::gpu, 0}, .capacity = 2_GiB, .reservation_limit = 0.75},
                       {.id = {Tier::host, 0},
                        .capacity = 4_GiB,
                        .granularity = 1_MiB,
                        .reservation_limit = 0.75}},
            .links = {},
            .buses = {}};
}

TEST_CASE("a machine's spaces have their capacity and limit, others aren't there (A-T1)",
          "[tiers][memory_space]") {
    const MachineSpec machine = fixture();
    MemorySpace gpu(*machine.space({Tier::gpu, 0}));
    MemorySpace host(*machine.space({Tier::host, 0}));

    CHECK(gpu.id() == SpaceId{Tier::gpu, 0});
    CHECK(gpu.thresholds().limit == 1536_MiB);
    CHECK(gpu.reservable() == 1536_MiB);
    CHECK(gpu.available() == 2_GiB);
    CHECK(host.id() == SpaceId{Tier::host, 0});
    CHECK(host.reservable() == 3_GiB);
    CHECK(host.available() == 4_GiB);
    CHECK(machine.space({Tier::gpu, 1}) == nullptr);
    CHECK(machine.space({Tier::host, 1}) == nullptr);
}

TEST_CASE("reservations count in their space alone, exactly, and until their release (A-T2)",
          "[tiers][memory_space]") {
    const MachineSpec machine = fixture();
    MemorySpace gpu(machine.spaces[0]);
    MemorySpace host(machine.spaces[1]);
    {
        const auto first = gpu.try_reserve(200_MiB);
        REQUIRE(first);
        CHECK(first->size() == 200_MiB);
        CHECK(gpu.counters() == SpaceCounters{.allocated = 0,
                                              .reserved = 200_MiB,
                                              .unused_reserved = 200_MiB,
                                              .used = 200_MiB,
                                              .peak_used = 200_MiB,
                                              .reservations = 1,
                                              .charges = 0});
        CHECK(host.counters() == SpaceCounters{});
        const auto second = host.try_reserve(500_MiB);
        REQUIRE(second);
        CHECK(second->size() == 500_MiB);
        CHECK(gpu.available() == 2_GiB - 200_MiB);
        CHECK(host.available() == 4_GiB - 500_MiB);
        CHECK(host.counters().reservations == 1);
    }
    CHECK(gpu.counters() == SpaceCounters{.peak_used = 200_MiB});
    CHECK(host.counters() == SpaceCounters{.peak_used = 500_MiB});
    CHECK(gpu.available() == 2_GiB);
    CHECK(host.available() == 4_GiB);
}

TEST_CASE("reservations end at the limit, allocations at the capacity, on every tier",
          "[tiers][memory_space]") {
    for (const SpaceSpec& spec : fixture().spaces) {
        MemorySpace space(spec);
        const Bytes limit = space.thresholds().limit;
        CHECK_FALSE(space.try_reserve(limit + 1));
        CHECK_FALSE(space.try_reserve(kLargestRequest));
        CHECK_FALSE(space.try_reserve(~Bytes{0}));
        auto all = space.try_reserve(limit);
        REQUIRE(all);
        CHECK_FALSE(space.try_reserve(1));

        auto rest = space.charge(spec.capacity - limit);
        REQUIRE(rest);
        const auto beyond = space.charge(1);
        REQUIRE_FALSE(beyond);
        CHECK(beyond.error().cause == ChargeRefusal::Cause::full);
        CHECK(beyond.error().missing == space.rounded(1));
        CHECK(space.charge(kLargestRequest).error().cause == ChargeRefusal::Cause::too_large);
        space.uncharge(*rest);
    }
}

TEST_CASE("as much as there is can be reserved, in whole units, and that may be nothing",
          "[tiers][memory_space]") {
    MemorySpace space({.capacity = 1000, .granularity = 64, .reservation_limit = 0.7});
    CHECK(space.reserve_up_to(64).size() == 64);
    CHECK(space.reserve_up_to(65).size() == 128);
    MemoryReservation most = space.reserve_up_to(~Bytes{0});
    CHECK(most.size() == 640);  // 700 in units of 64
    MemoryReservation none = space.reserve_up_to(1);
    CHECK(none);
    CHECK(none.size() == 0);
    CHECK(space.counters().reservations == 2);
}

TEST_CASE("sizes are rounded up to the granularity, and count so everywhere",
          "[tiers][memory_space]") {
    MemorySpace space({.capacity = 10_KiB, .granularity = 1_KiB});
    auto reservation = space.try_reserve(1500);
    REQUIRE(reservation);
    CHECK(reservation->size() == 2_KiB);
    auto charge = space.charge(1);
    REQUIRE(charge);
    CHECK(charge->size == 1_KiB);
    CHECK(reservation->grow_by(1));
    CHECK(reservation->size() == 3_KiB);
    CHECK(reservation->split(1, OwnerId::nobody)->size() == 1_KiB);
    REQUIRE(space.recharge(*charge, 1025));
    CHECK(charge->size == 2_KiB);
    CHECK(space.used() == 4_KiB);  // the part was released at once
    auto nothing = space.charge(0);
    REQUIRE(nothing);
    CHECK(nothing->size == 0);
    space.uncharge(*nothing);
    space.uncharge(*charge);
    CHECK(space.rounded(kLargestRequest + 1) == kLargestRequest + 1);
}

TEST_CASE("a charge can be made larger and smaller, and a refusal leaves it as it was",
          "[tiers][memory_space]") {
    MemorySpace space({.capacity = 100});
    auto charge = space.charge(40);
    REQUIRE(charge);
    REQUIRE(space.recharge(*charge, 100));
    CHECK(space.used() == 100);
    const auto refused = space.recharge(*charge, 130);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().missing == 30);
    CHECK(charge->size == 100);
    REQUIRE(space.recharge(*charge, 0));
    CHECK(space.used() == 0);
    CHECK(space.counters().charges == 1);
    space.uncharge(*charge);
    CHECK_FALSE(*charge);
    space.uncharge(*charge);  // of nothing
    CHECK(space.counters() == SpaceCounters{.peak_used = 100});
    space.reset_peak();
    CHECK(space.counters() == SpaceCounters{});
}

TEST_CASE("a space says in words how it is", "[tiers][memory_space]") {
    MemorySpace space({.id = {Tier::gpu, 0}, .capacity = 2_GiB, .reservation_limit = 0.75});
    auto reservation = space.try_reserve(1_GiB, OwnerId{7});
    auto charge = reservation->charge(512_MiB);
    CHECK(space.text() ==
          "gpu:0: 1.00 GiB of 2.00 GiB used (limit 1.50 GiB): 512 MiB allocated, "
          "512 MiB unused in 1 reservation");
    const std::vector<ReservationFacts> all = space.reservations();
    REQUIRE(all.size() == 1);
    CHECK(all[0].owner == OwnerId{7});
    CHECK(all[0].used == 512_MiB);
    space.uncharge(*charge);
}

}  // namespace
}  // namespace tidemark
