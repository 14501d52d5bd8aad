// Reservations: their size and use, what outlives them, and what is made of them.
#include "core/tiers/spaces/reservation.h"

#include <thread>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>

#include "core/tiers/spaces/memory_space.h"

namespace tidemark {
namespace {

static_assert(!std::is_copy_constructible_v<MemoryReservation>);
static_assert(std::is_nothrow_move_constructible_v<MemoryReservation>);
static_assert(std::is_nothrow_destructible_v<MemoryReservation>);
static_assert(std::is_trivially_copyable_v<Charge>);

MemoryReservation must_reserve(MemorySpace& space, Bytes size, OwnerId owner = OwnerId::nobody) {
    auto reservation = space.try_reserve(size, owner);
    REQUIRE(reservation);
    return std::move(*reservation);
}

Charge must_charge(MemoryReservation& reservation, Bytes size) {
    const auto charge = reservation.charge(size);
    REQUIRE(charge);
    return *charge;
}

TEST_CASE("what is allocated within a reservation moves nothing, its excess is the space's",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 2_GiB});
    MemoryReservation reservation = must_reserve(space, 2048);
    Charge charges[3];
    const Bytes used[] = {2048, 2048, 3072};
    for (int i = 0; i < 3; ++i) {
        charges[i] = must_charge(reservation, 1024);
        CHECK(space.used() == used[i]);
    }
    CHECK(reservation.facts().excess() == 1024);
    space.uncharge(charges[0]);  // the first one: the excess goes first all the same
    CHECK(space.used() == 2048);
    CHECK(reservation.unused() == 0);
    space.uncharge(charges[2]);
    CHECK(space.used() == 2048);
    CHECK(reservation.unused() == 1024);
    space.uncharge(charges[1]);
    reservation.release();
    CHECK(space.counters() == SpaceCounters{.peak_used = 3072});
}

TEST_CASE("peaks are those of the space and of each reservation (A-T5)", "[tiers][reservation]") {
    MemorySpace space({.capacity = 2_GiB});
    MemoryReservation reservation = must_reserve(space, 2048);
    const MemoryReservation other = must_reserve(space, 0);
    CHECK(space.counters().peak_used == 2048);
    CHECK(reservation.facts().peak == 0);
    Charge first = must_charge(reservation, 1024);
    CHECK(space.counters().peak_used == 2048);
    CHECK(reservation.facts().peak == 1024);
    Charge second = must_charge(reservation, 1024);
    Charge third = must_charge(reservation, 1024);
    CHECK(space.used() == 3072);
    CHECK(space.counters().peak_used == 3072);
    CHECK(reservation.facts().peak == 3072);
    CHECK(other.facts().peak == 0);

    reservation.release();  // while all three live
    CHECK(space.used() == 3072);
    for (Charge* charge : {&first, &second, &third})
        space.uncharge(*charge);
    CHECK(space.used() == 0);
    CHECK(space.counters().peak_used == 3072);
}

TEST_CASE("a reservation's peak begins again when it is reset", "[tiers][reservation]") {
    MemorySpace space({.capacity = 2_GiB});
    MemoryReservation reservation = must_reserve(space, 2048);
    Charge charge = must_charge(reservation, 2048);
    REQUIRE(space.recharge(charge, 512));
    CHECK(reservation.facts().peak == 2048);
    reservation.reset_peak();
    CHECK(reservation.facts().peak == 512);
    space.uncharge(charge);
}

TEST_CASE("the owner of a reservation has its unused bytes besides what all have (A-T6)",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 2_GiB});
    MemoryReservation reservation = must_reserve(space, 1024);
    CHECK(space.used() == 1024);
    CHECK(space.available() == 2_GiB - 1024);
    CHECK(space.available_to(reservation.id()) == 2_GiB);
    Charge charge = must_charge(reservation, 512);
    CHECK(space.used() == 1024);
    CHECK(reservation.used() == 512);
    CHECK(space.available_to(reservation.id()) == 2_GiB - 512);
    space.uncharge(charge);
    charge = must_charge(reservation, 2048);
    CHECK(space.used() == 2048);
    CHECK(space.available() == 2_GiB - 2048);
    CHECK(space.available_to(reservation.id()) == 2_GiB - 2048);
    space.uncharge(charge);
}

TEST_CASE("two reservations: a free credits the one that the bytes came from (A-T4, defect 3)",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 2_GiB});
    MemoryReservation first = must_reserve(space, 1_MiB);
    MemoryReservation second = must_reserve(space, 1_MiB);
    CHECK(space.available_to(first.id()) == space.available() + 1_MiB);
    CHECK(space.available_to(second.id()) == space.available() + 1_MiB);
    Charge small = must_charge(first, 512_KiB);
    CHECK(first.used() == 512_KiB);
    CHECK(space.available_to(first.id()) == space.available() + 512_KiB);
    Charge large = must_charge(second, 2_MiB);
    CHECK(second.used() == 2_MiB);
    CHECK(space.available_to(second.id()) == space.available());

    // Whoever frees: another thread here. Upstream's first reservation would have 2.5 MiB of room.
    std::thread([&] { space.uncharge(large); }).join();
    CHECK(space.available_to(first.id()) == space.available() + 512_KiB);
    CHECK(space.available_to(second.id()) == space.available() + 1_MiB);
    space.uncharge(small);
    CHECK(first.unused() == 1_MiB);
    CHECK(second.unused() == 1_MiB);
}

TEST_CASE("frees elsewhere never let a reservation have more than its budget (defect 3)",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 1_MiB});
    space.set_over_reservation(fail_over_reservation());
    MemoryReservation giver = must_reserve(space, 64_KiB);
    MemoryReservation taker = must_reserve(space, 64_KiB);
    Charge given = must_charge(giver, 20_KiB);
    Charge taken = must_charge(taker, 64_KiB);
    space.uncharge(given);  // as by the taker's stream
    CHECK_FALSE(taker.charge(1));
    space.uncharge(taken);
}

TEST_CASE("host blocks with a reservation, and after its end (A-T9)", "[tiers][reservation]") {
    MemorySpace host({.id = {Tier::host, 0},
                      .capacity = 4_GiB,
                      .granularity = 1_MiB,
                      .reservation_limit = 0.75});
    MemoryReservation reservation = must_reserve(host, 2_MiB);
    CHECK(host.used() == 2_MiB);
    Charge beyond = must_charge(reservation, 4_MiB);
    CHECK(host.available() == 4_GiB - 4_MiB);
    CHECK(host.counters().reserved == 2_MiB);
    CHECK(host.used() == 4_MiB);
    host.uncharge(beyond);
    CHECK(host.used() == 2_MiB);
    Charge within = must_charge(reservation, 1_MiB);
    CHECK(host.used() == 2_MiB);
    CHECK(host.available() == 4_GiB - 2_MiB);
    reservation.release();
    CHECK(host.counters().reserved == 0);
    CHECK(host.used() == 1_MiB);
    host.uncharge(within);
    CHECK(host.used() == 0);
}

TEST_CASE("shrinking lowers the reserved sum too, and growing brings it back (defect 2)",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 10000});
    MemoryReservation reservation = must_reserve(space, 1000);
    Charge charge = must_charge(reservation, 300);
    CHECK(reservation.shrink_to_fit() == 700);
    CHECK(reservation.size() == 300);
    CHECK(space.counters().reserved == 300);
    CHECK(space.used() == 300);
    CHECK(reservation.grow_by(50));
    CHECK(space.counters().reserved == 350);
    space.uncharge(charge);
    CHECK(space.used() == 350);
    reservation.release();
    CHECK(space.counters().reserved == 0);
    CHECK(space.used() == 0);
}

TEST_CASE("growing is refused beyond the limit, and free over what is excess",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 1000, .reservation_limit = 0.5});
    MemoryReservation reservation = must_reserve(space, 400);
    CHECK_FALSE(reservation.grow_by(101));
    CHECK_FALSE(reservation.grow_by(kLargestRequest));
    CHECK_FALSE(reservation.grow_by(~Bytes{0}));
    CHECK(reservation.size() == 400);
    Charge charge = must_charge(reservation, 900);  // beyond the limit, as excess
    CHECK(reservation.grow_by(500));
    CHECK(space.used() == 900);
    CHECK_FALSE(reservation.grow_by(1));
    space.uncharge(charge);
    CHECK(space.used() == 900);
    reservation.release();
    CHECK(space.used() == 0);
}

TEST_CASE("a reservation that has taken the place of another is not mistaken for it",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 1000});
    MemoryReservation first = must_reserve(space, 100);
    const ReservationId gone = first.id();
    Charge charge = must_charge(first, 60);
    first.release();
    CHECK(space.used() == 60);
    MemoryReservation second = must_reserve(space, 100);
    REQUIRE(second.id().node == gone.node);  // the same place in the table
    Charge other = must_charge(second, 100);
    space.uncharge(charge);
    CHECK(second.used() == 100);
    CHECK(space.used() == 100);

    CHECK_FALSE(space.find(gone));
    CHECK(space.available_to(gone) == space.available());
    CHECK(space.charge(1, gone).error().cause == ChargeRefusal::Cause::no_reservation);
    CHECK(space.charge(1, {12345, 0}).error().cause == ChargeRefusal::Cause::no_reservation);
    space.uncharge(other);
}

TEST_CASE("more bytes for an allocation whose reservation is gone are the space's",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 1000});
    MemoryReservation reservation = must_reserve(space, 100);
    Charge charge = must_charge(reservation, 60);
    reservation.release();
    REQUIRE(space.recharge(charge, 200));
    CHECK(space.used() == 200);
    const auto refused = space.recharge(charge, 1200);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().missing == 200);
    space.uncharge(charge);
    CHECK(space.used() == 0);
}

TEST_CASE("a split takes unused bytes, and leaves the allocations where they are",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 1000});
    MemoryReservation reservation = must_reserve(space, 100, OwnerId{1});
    reservation.set_over_reservation(fail_over_reservation());
    Charge charge = must_charge(reservation, 30);
    CHECK_FALSE(reservation.split(71, OwnerId{2}));
    CHECK(reservation.size() == 100);
    auto part = reservation.split(70, OwnerId{2});
    REQUIRE(part);
    CHECK(part->size() == 70);
    CHECK(part->facts().owner == OwnerId{2});
    CHECK(reservation.size() == 30);
    CHECK(reservation.used() == 30);
    CHECK(space.used() == 100);
    CHECK(space.counters().reservations == 2);
    CHECK_FALSE(part->charge(71));  // the policy went along
    space.uncharge(charge);
    CHECK(reservation.unused() == 30);
    part.reset();
    CHECK(space.used() == 30);
}

TEST_CASE("after a merge the bytes of both come back to the one that is left",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 1000});
    MemoryReservation kept = must_reserve(space, 100);
    MemoryReservation taken = must_reserve(space, 200);
    const ReservationId gone = taken.id();
    Charge mine = must_charge(kept, 60);
    Charge theirs = must_charge(taken, 150);
    REQUIRE(kept.merge(std::move(taken)));
    CHECK_FALSE(taken);
    CHECK(kept.size() == 300);
    CHECK(kept.used() == 210);
    CHECK(space.used() == 300);
    CHECK(space.counters().reservations == 1);
    CHECK(space.counters().reserved == 300);
    CHECK_FALSE(space.find(gone));
    CHECK(space.charge(1, gone).error().cause == ChargeRefusal::Cause::no_reservation);

    REQUIRE(space.recharge(theirs, 170));  // out of the merged one's room
    CHECK(kept.used() == 230);
    CHECK(space.used() == 300);
    space.uncharge(theirs);
    CHECK(kept.unused() == 240);
    space.uncharge(mine);
    CHECK(kept.unused() == 300);
}

TEST_CASE("charges follow their reservation through a chain of merges and its release",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 1000});
    MemoryReservation chain = must_reserve(space, 10);
    std::vector<Charge> charges{must_charge(chain, 5), must_charge(chain, 5)};
    for (int i = 0; i < 8; ++i) {
        MemoryReservation next = must_reserve(space, 10);
        charges.push_back(must_charge(next, 10));
        REQUIRE(next.merge(std::move(chain)));
        chain = std::move(next);
    }
    CHECK(chain.size() == 90);
    CHECK(chain.used() == 90);
    space.uncharge(charges[0]);  // eight links away
    CHECK(chain.used() == 85);
    space.uncharge(charges[4]);
    CHECK(chain.used() == 75);
    chain.release();
    CHECK(space.used() == 75);
    MemoryReservation other = must_reserve(space, 100);
    for (Charge& charge : charges)
        space.uncharge(charge);
    CHECK(other.used() == 0);
    CHECK(space.used() == 100);
}

TEST_CASE("merged reservations leave their places in the table when their last charge is gone",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 1000});
    for (int i = 0; i < 100; ++i) {
        MemoryReservation first = must_reserve(space, 10);
        MemoryReservation second = must_reserve(space, 10);
        MemoryReservation third = must_reserve(space, 10);
        Charge farthest = must_charge(first, 10);
        Charge middle = must_charge(second, 10);
        REQUIRE(second.merge(std::move(first)));
        REQUIRE(third.merge(std::move(second)));
        CHECK(third.id().node < 3);
        space.uncharge(i % 2 == 0 ? farthest : middle);
        space.uncharge(i % 2 == 0 ? middle : farthest);
    }
}

TEST_CASE("reservations of two spaces are not merged, nothing is lost, nor one with itself",
          "[tiers][reservation]") {
    MemorySpace gpu({.id = {Tier::gpu, 0}, .capacity = 1000});
    MemorySpace host({.id = {Tier::host, 0}, .capacity = 1000});
    MemoryReservation kept = must_reserve(gpu, 100);
    MemoryReservation other = must_reserve(host, 200);
    CHECK(kept.merge(std::move(other)).error().code == ErrorCode::bad_option);
    CHECK(other);
    CHECK(other.size() == 200);
    CHECK(kept.merge(std::move(kept)).error().code == ErrorCode::bad_option);
    CHECK(kept.size() == 100);
    CHECK(kept.merge(MemoryReservation{}).error().code == ErrorCode::bad_option);
}

TEST_CASE("a reservation changes hands with its allocations, and says who has it",
          "[tiers][reservation]") {
    MemorySpace space({.capacity = 1000});
    MemoryReservation reservation = must_reserve(space, 100, OwnerId{1});
    Charge charge = must_charge(reservation, 40);
    std::thread([&, moved = std::move(reservation)]() mutable {
        moved.set_owner(OwnerId{2});
        CHECK(space.reservations().at(0).owner == OwnerId{2});
        Charge inside = *moved.charge(60);
        space.uncharge(inside);
    }).join();
    CHECK_FALSE(reservation);
    CHECK(space.used() == 40);
    space.uncharge(charge);
    CHECK(space.used() == 0);
}

TEST_CASE(
    "assigning to a handle releases what it had, and releasing nothing is harmless "
    "(defect 13)",
    "[tiers][reservation]") {
    MemorySpace space({.capacity = 1000});
    MemoryReservation first = must_reserve(space, 100);
    first = must_reserve(space, 200);
    CHECK(space.used() == 200);
    MemoryReservation& same = first;
    first = std::move(same);
    CHECK(first.size() == 200);
    first.release();
    first.release();
    MemoryReservation{}.release();
    CHECK(space.used() == 0);
}

}  // namespace
}  // namespace tidemark
