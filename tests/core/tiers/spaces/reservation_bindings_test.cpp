// Which stream, thread or task allocates out of which reservation.
#include "core/tiers/spaces/reservation_bindings.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/device.h"

namespace tidemark {
namespace {

using support::kOther;
using support::kStream;

struct BindingsBench {
    MemorySpace space{SpaceSpec{.capacity = 2_GiB}};
    ReservationBindings bindings{space};

    MemoryReservation reserve(Bytes size) { return std::move(*space.try_reserve(size)); }

    Charge charge_on(Bytes size, StreamId stream) {
        const auto charge = bindings.charge_on(size, stream);
        REQUIRE(charge);
        return *charge;
    }
};

TEST_CASE("a stream allocates out of what is bound to it, others out of the space (A-T5, A-T6)",
          "[tiers][reservation_bindings]") {
    BindingsBench bench;
    REQUIRE(bench.bindings.bind(stream_key(kStream), bench.reserve(1024)));
    const ReservationId id = *bench.bindings.find(stream_key(kStream));
    CHECK(bench.space.available_to(id) == 2_GiB);
    CHECK_FALSE(bench.bindings.find(stream_key(kOther)));

    Charge inside = bench.charge_on(512, kStream);
    CHECK(bench.space.used() == 1024);
    Charge plain = bench.charge_on(512, kOther);
    CHECK(bench.space.used() == 1536);
    CHECK(bench.space.find(id)->used == 512);

    // Detached while it has allocations: the unused rest goes back, they stay until they are freed.
    auto reservation = bench.bindings.unbind(stream_key(kStream));
    REQUIRE(reservation);
    CHECK(bench.bindings.size() == 0);
    reservation.reset();
    CHECK(bench.space.used() == 1024);
    bench.space.uncharge(inside);
    bench.space.uncharge(plain);
    CHECK(bench.space.used() == 0);
    CHECK_FALSE(bench.bindings.unbind(stream_key(kStream)));
}

TEST_CASE("the stream goes before the thread, the thread before the space",
          "[tiers][reservation_bindings]") {
    BindingsBench bench;
    REQUIRE(bench.bindings.bind(this_thread_key(), bench.reserve(1000)));
    REQUIRE(bench.bindings.bind(stream_key(kStream), bench.reserve(1000)));
    Charge of_stream = bench.charge_on(10, kStream);
    Charge of_thread = bench.charge_on(20, kOther);
    CHECK(bench.space.find(*bench.bindings.find(stream_key(kStream)))->used == 10);
    CHECK(bench.space.find(*bench.bindings.find(this_thread_key()))->used == 20);
    std::thread([&] {
        Charge of_nobody = bench.charge_on(30, kOther);
        CHECK(bench.space.used() == 2030);
        bench.space.uncharge(of_nobody);
    }).join();
    bench.space.uncharge(of_stream);
    bench.space.uncharge(of_thread);
}

TEST_CASE("keys of different kinds and threads are different", "[tiers][reservation_bindings]") {
    CHECK_FALSE(stream_key(StreamId{3}) == task_key(3));
    const BindingKey mine = this_thread_key();
    CHECK(mine == this_thread_key());
    std::thread([&] { CHECK_FALSE(mine == this_thread_key()); }).join();
}

TEST_CASE("one thread has a reservation in each of two spaces (defect 4)",
          "[tiers][reservation_bindings]") {
    BindingsBench first;
    BindingsBench second;
    REQUIRE(first.bindings.bind(this_thread_key(), first.reserve(1000)));
    REQUIRE(second.bindings.bind(this_thread_key(), second.reserve(500)));
    Charge in_first = first.charge_on(100, kStream);
    Charge in_second = second.charge_on(200, kStream);
    CHECK(first.space.used() == 1000);
    CHECK(second.space.used() == 500);
    // Freed by another thread, which has a reservation of its own: no credit goes astray.
    std::thread([&] {
        REQUIRE(first.bindings.bind(this_thread_key(), first.reserve(50)));
        first.space.uncharge(in_first);
        CHECK(first.space.find(*first.bindings.find(this_thread_key()))->used == 0);
        first.bindings.unbind(this_thread_key());
    }).join();
    CHECK(first.space.find(*first.bindings.find(this_thread_key()))->used == 0);
    second.space.uncharge(in_second);
}

TEST_CASE("a binding that isn't made gives the reservation back (defect 5)",
          "[tiers][reservation_bindings]") {
    BindingsBench bench;
    MemorySpace other({.id = {Tier::host, 0}, .capacity = 1_GiB});
    REQUIRE(bench.bindings.bind(task_key(1), bench.reserve(1000)));
    auto taken = bench.bindings.bind(task_key(1), bench.reserve(500));
    REQUIRE_FALSE(taken);
    CHECK(taken.error().cause == RefusedBinding::Cause::taken);
    CHECK(taken.error().reservation.size() == 500);

    auto wrong = bench.bindings.bind(task_key(2), std::move(*other.try_reserve(300)));
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().cause == RefusedBinding::Cause::other_space);
    CHECK(wrong.error().reservation.size() == 300);
    CHECK(other.used() == 300);
    CHECK_FALSE(bench.bindings.bind(task_key(2), MemoryReservation{}));
    CHECK(bench.bindings.size() == 1);
    CHECK(bench.space.used() == 1500);
}

TEST_CASE("a scope binds for its life, and may give the reservation back at its end",
          "[tiers][reservation_bindings]") {
    BindingsBench bench;
    {
        auto scope =
            ReservationScope::open(bench.bindings, stream_key(kStream), bench.reserve(100));
        REQUIRE(scope);
        auto second = ReservationScope::open(bench.bindings, stream_key(kStream), bench.reserve(9));
        REQUIRE_FALSE(second);
        CHECK(second.error().reservation.size() == 9);
        ReservationScope moved = std::move(*scope);
        CHECK(bench.bindings.size() == 1);
    }
    CHECK(bench.bindings.size() == 0);
    CHECK(bench.space.used() == 0);
    auto scope = ReservationScope::open(bench.bindings, stream_key(kStream), bench.reserve(100));
    REQUIRE(scope);
    const MemoryReservation kept = scope->end();
    CHECK(kept.size() == 100);
    CHECK_FALSE(scope->end());
}

TEST_CASE("what is charged while its reservation ends is the space's (defect 7)",
          "[tiers][reservation_bindings]") {
    // Asked in the middle of a charge, without a lock: the moment at which another thread unbinds.
    class Unbinds final : public OverReservationPolicy {
      public:
        explicit Unbinds(ReservationBindings& bindings) : bindings_(bindings) {}

        OverReservationPlan plan(const OverReservationFacts& facts) const override {
            bindings_.unbind(stream_key(kStream));
            return {.growth = facts.missing()};
        }

      private:
        ReservationBindings& bindings_;
    };

    BindingsBench bench;
    MemoryReservation small = bench.reserve(10);
    small.set_over_reservation(std::make_shared<Unbinds>(bench.bindings));
    REQUIRE(bench.bindings.bind(stream_key(kStream), std::move(small)));
    Charge charge = bench.charge_on(100, kStream);
    CHECK(bench.bindings.size() == 0);
    CHECK(bench.space.counters().reserved == 0);
    CHECK(bench.space.used() == 100);
    bench.space.uncharge(charge);
    CHECK(bench.space.used() == 0);
}

TEST_CASE("lookups are safe while bindings come and go (defect 7)",
          "[tiers][reservation_bindings]") {
    BindingsBench bench;
    std::atomic<bool> done = false;
    std::atomic<int> refused = 0;  // never: if the reservation goes, there is the space
    std::vector<std::thread> users;
    for (int i = 0; i < 3; ++i)
        users.emplace_back([&] {
            while (!done) {
                auto charge = bench.bindings.charge_on(100, kStream);
                if (charge)
                    bench.space.uncharge(*charge);
                else
                    ++refused;
                std::this_thread::yield();
            }
        });
    for (int i = 0; i < 1000; ++i) {
        auto bound = bench.bindings.bind(stream_key(kStream), bench.reserve(150));
        if (i % 2 == 0)
            std::this_thread::yield();
        bench.bindings.unbind(stream_key(kStream));  // and released, whoever is looking
    }
    done = true;
    for (std::thread& user : users)
        user.join();
    CHECK(refused == 0);
    const SpaceCounters counters = bench.space.counters();
    CHECK(counters == SpaceCounters{.peak_used = counters.peak_used});
}

}  // namespace
}  // namespace tidemark
