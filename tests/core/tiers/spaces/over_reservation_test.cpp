// What happens when a reservation is too small.
#include "core/tiers/spaces/over_reservation.h"

#include <functional>
#include <vector>

#include <catch2/catch.hpp>

#include "core/tiers/spaces/memory_space.h"

namespace tidemark {
namespace {

struct OverBench {
    MemorySpace space{SpaceSpec{.capacity = 2_GiB}};
    MemoryReservation reservation = std::move(*space.try_reserve(1024));
};

// The program's own: does what the test says, and keeps what it was asked.
class Own final : public OverReservationPolicy {
  public:
    explicit Own(std::function<OverReservationPlan(const OverReservationFacts&)> answer)
        : answer_(std::move(answer)) {}

    OverReservationPlan plan(const OverReservationFacts& facts) const override {
        return answer_(facts);
    }

  private:
    std::function<OverReservationPlan(const OverReservationFacts&)> answer_;
};

TEST_CASE("ignore charges the excess to the space (A-T7)", "[tiers][over_reservation]") {
    OverBench bench;
    bench.reservation.set_over_reservation(ignore_over_reservation());
    auto charge = bench.reservation.charge(2048);
    REQUIRE(charge);
    CHECK(bench.space.counters().reserved == 1024);
    CHECK(bench.space.used() == 2048);
    bench.space.uncharge(*charge);
    bench.reservation.release();
    CHECK(bench.space.used() == 0);
}

TEST_CASE("fail refuses, and leaves every counter alone (A-T7)", "[tiers][over_reservation]") {
    OverBench bench;
    bench.reservation.set_over_reservation(fail_over_reservation());
    const SpaceCounters before = bench.space.counters();
    const auto refused = bench.reservation.charge(2048);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().cause == ChargeRefusal::Cause::over_reservation);
    CHECK(refused.error().missing == 0);
    CHECK(bench.space.counters() == before);
    auto fits = bench.reservation.charge(1024);
    REQUIRE(fits);
    bench.space.uncharge(*fits);
}

TEST_CASE("increase charges growth once: 1024 and 2048 by 2.0 is 3072, then 0 (A-T7, defect 1)",
          "[tiers][over_reservation]") {
    OverBench bench;
    bench.reservation.set_over_reservation(increase_reservation(2.0));
    auto charge = bench.reservation.charge(2048);
    REQUIRE(charge);
    CHECK(bench.space.counters().reserved == 3072);
    CHECK(bench.space.used() == 3072);
    bench.space.uncharge(*charge);
    CHECK(bench.space.used() == 3072);
    bench.reservation.release();
    CHECK(bench.space.used() == 0);
    CHECK(bench.space.counters().reserved == 0);
}

TEST_CASE("increase tries what is exactly needed second, then refuses",
          "[tiers][over_reservation]") {
    MemorySpace space({.capacity = 10000, .reservation_limit = 0.3});
    MemoryReservation reservation = std::move(*space.try_reserve(1000));
    reservation.set_over_reservation(increase_reservation());
    auto exact = reservation.charge(3000);  // 2000 are missing; 2500 would be beyond the limit
    REQUIRE(exact);
    CHECK(reservation.size() == 3000);
    CHECK(space.used() == 3000);
    const auto refused = reservation.charge(100);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().cause == ChargeRefusal::Cause::over_reservation);
    CHECK(refused.error().missing == 100);  // freed in the space, the reservation could grow
    CHECK(reservation.size() == 3000);
    space.uncharge(*exact);

    reservation.set_over_reservation(increase_reservation(1.25, true));
    auto excess = reservation.charge(3100);  // or lets the space pay, if it may
    REQUIRE(excess);
    CHECK(reservation.size() == 3000);
    CHECK(space.used() == 3100);
    space.uncharge(*excess);
}

TEST_CASE("growth covers excess that is there already without charging it again",
          "[tiers][over_reservation]") {
    OverBench bench;
    auto excess = bench.reservation.charge(2048);
    REQUIRE(excess);
    bench.reservation.set_over_reservation(increase_reservation(1.0));
    auto more = bench.reservation.charge(1024);
    REQUIRE(more);
    CHECK(bench.reservation.size() == 3072);
    CHECK(bench.space.used() == 3072);
    bench.space.uncharge(*excess);
    bench.space.uncharge(*more);
    bench.reservation.release();
    CHECK(bench.space.used() == 0);
}

TEST_CASE("the default policy of a space is used, as it is at that moment (defect 6)",
          "[tiers][over_reservation]") {
    OverBench bench;
    bench.space.set_over_reservation(fail_over_reservation());
    CHECK_FALSE(bench.reservation.charge(2048));
    MemoryReservation later = std::move(*bench.space.try_reserve(10));
    CHECK_FALSE(later.charge(11));
    later.set_over_reservation(ignore_over_reservation());  // its own goes before
    auto charge = later.charge(11);
    REQUIRE(charge);
    bench.space.uncharge(*charge);
    later.set_over_reservation(nullptr);
    CHECK_FALSE(later.charge(11));
    bench.space.set_over_reservation(nullptr);
    charge = later.charge(11);
    REQUIRE(charge);
    bench.space.uncharge(*charge);
}

TEST_CASE("a policy of the program's own gets the facts and its plan is carried out",
          "[tiers][over_reservation]") {
    MemorySpace space({.capacity = 10000, .reservation_limit = 0.5});
    MemoryReservation reservation = std::move(*space.try_reserve(1000, OwnerId{9}));
    std::vector<OverReservationFacts> requests;
    OverReservationPlan answer{.growth = 500, .second_growth = 0, .allow_excess = true};
    reservation.set_over_reservation(std::make_shared<Own>([&](const OverReservationFacts& facts) {
        CHECK(space.used() <= 10000);  // would hang under the lock
        requests.push_back(facts);
        return answer;
    }));
    auto inside = reservation.charge(400);
    REQUIRE(inside);
    CHECK(requests.empty());
    auto beyond = reservation.charge(2000);  // 1400 are missing: 500 reserved, 900 the space's
    REQUIRE(beyond);
    CHECK(requests == std::vector{OverReservationFacts{.requested = 2000,
                                                       .reserved = 1000,
                                                       .used = 400,
                                                       .reservable = 4000,
                                                       .available = 9000,
                                                       .owner = OwnerId{9}}});
    CHECK(reservation.size() == 1500);
    CHECK(space.used() == 2400);

    answer = {.growth = 100, .second_growth = 0, .allow_excess = false};
    CHECK_FALSE(reservation.charge(200));  // there is room for 100, but that isn't enough
    CHECK(reservation.size() == 1500);
    answer = {.growth = kLargestRequest, .second_growth = ~Bytes{0}, .allow_excess = false};
    CHECK_FALSE(reservation.charge(1));
    CHECK(reservation.size() == 1500);
    space.uncharge(*inside);
    space.uncharge(*beyond);
}

TEST_CASE("a plan for a moment that has passed is not carried out, the policy is asked again",
          "[tiers][over_reservation]") {
    OverBench bench;
    std::vector<Bytes> reserved;
    bench.reservation.set_over_reservation(
        std::make_shared<Own>([&](const OverReservationFacts& facts) {
            reserved.push_back(facts.reserved);
            if (reserved.size() == 1)
                CHECK(bench.reservation.grow_by(512));  // as another thread might
            return OverReservationPlan{.growth = facts.missing()};
        }));
    auto charge = bench.reservation.charge(2048);
    REQUIRE(charge);
    CHECK(reserved == std::vector<Bytes>{1024, 1536});
    CHECK(bench.reservation.size() == 2048);
    CHECK(bench.space.used() == 2048);
    bench.space.uncharge(*charge);
}

}  // namespace
}  // namespace tidemark
