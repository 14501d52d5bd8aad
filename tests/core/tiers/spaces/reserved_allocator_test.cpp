// A reservation as an allocator, over real policies on a simulated device.
#include "core/tiers/spaces/reserved_allocator.h"

#include <deque>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/faulty.h"
#include "core/concurrent/shared_allocator.h"
#include "tests/support/device.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::kOther;
using support::kStream;

// best-fit rounds to 512 bytes, and so does what is charged.
struct ReservedBench {
    SimDevice device{{.capacity = 64_MiB}};
    std::unique_ptr<Allocator> inner = support::make_policy("best-fit:segment=2MiB", device);
    MemorySpace space{SpaceSpec{.capacity = 64_MiB}};
    ReservationBindings bindings{space};

    MemoryReservation reserve(Bytes size) { return std::move(*space.try_reserve(size)); }
};

// Frees what the test has put into it, as a spill engine would.
class Victims final : public Spiller {
  public:
    explicit Victims(ReservedAllocator& allocator) : allocator_(allocator) {}

    Result<Bytes> free_bytes(Bytes size) override {
        ++calls;
        Bytes freed = 0;
        while (freed < size && !held.empty()) {
            freed += held.front().size;
            allocator_.deallocate(held.front(), kStream);
            held.pop_front();
        }
        return freed;
    }

    std::deque<Allocation> held;
    int calls = 0;

  private:
    ReservedAllocator& allocator_;
};

TEST_CASE("what is granted costs the reservation what it costs the allocator",
          "[tiers][reserved_allocator]") {
    ReservedBench bench;
    MemoryReservation reservation = bench.reserve(1_MiB);
    ReservedAllocator allocator(*bench.inner, reservation);
    const Allocation odd = support::must_allocate(allocator, 1000);
    CHECK(odd.size == 1024);
    CHECK(reservation.used() == 1024);
    const Allocation empty = support::must_allocate(allocator, 0);
    CHECK(reservation.used() == 1024 + empty.size);
    CHECK(bench.space.used() == 1_MiB);
    CHECK(allocator.usage().allocated == reservation.used());
    allocator.deallocate(odd, kOther);
    allocator.deallocate(empty, kOther);
    CHECK(reservation.used() == 0);
    CHECK(allocator.usage().allocated == 0);
}

TEST_CASE("two streams with reservations: a cross-stream free credits the origin (A-T4)",
          "[tiers][reserved_allocator]") {
    ReservedBench bench;
    ReservedAllocator allocator(*bench.inner, bench.bindings);
    REQUIRE(bench.bindings.bind(stream_key(kStream), bench.reserve(1_MiB)));
    REQUIRE(bench.bindings.bind(stream_key(kOther), bench.reserve(1_MiB)));
    const ReservationId first = *bench.bindings.find(stream_key(kStream));
    const ReservationId second = *bench.bindings.find(stream_key(kOther));
    const Allocation small = support::must_allocate(allocator, 512_KiB, kStream);
    const Allocation large = support::must_allocate(allocator, 2_MiB, kOther);
    CHECK(bench.space.find(first)->used == 512_KiB);
    CHECK(bench.space.find(second)->used == 2_MiB);
    CHECK(bench.space.available_to(second) == bench.space.available());

    allocator.deallocate(large, kStream);
    CHECK(bench.space.available_to(first) == bench.space.available() + 512_KiB);
    CHECK(bench.space.available_to(second) == bench.space.available() + 1_MiB);
    allocator.deallocate(small, kOther);
    CHECK(bench.space.available_to(first) == bench.space.available() + 1_MiB);
    bench.bindings.unbind(stream_key(kStream));
    bench.bindings.unbind(stream_key(kOther));
    CHECK(bench.space.used() == 0);
}

TEST_CASE("frees after the reservation's end are exact, even if another took its place",
          "[tiers][reserved_allocator]") {
    ReservedBench bench;
    MemoryReservation reservation = bench.reserve(1_MiB);
    ReservedAllocator allocator(*bench.inner, reservation);
    const Allocation live = support::must_allocate(allocator, 600_KiB);
    reservation.release();
    CHECK(bench.space.used() == 600_KiB);
    CHECK(support::must_refuse(allocator, 1).cause == OutOfMemory::Cause::limit);
    const MemoryReservation next = bench.reserve(1_MiB);
    allocator.deallocate(live, {});
    CHECK(next.used() == 0);
    CHECK(bench.space.used() == 1_MiB);
}

TEST_CASE("a refusal by the reservation or the space is a limit, and asks the device for nothing",
          "[tiers][reserved_allocator]") {
    ReservedBench bench;
    MemoryReservation reservation = bench.reserve(1_MiB);
    reservation.set_over_reservation(fail_over_reservation());
    ReservedAllocator allocator(*bench.inner, reservation);
    CHECK(support::must_refuse(allocator, 2_MiB).cause == OutOfMemory::Cause::limit);
    CHECK(support::must_refuse(allocator, kLargestRequest).cause == OutOfMemory::Cause::too_large);
    CHECK(support::calls(bench.device, DeviceCall::malloc) == 0);
    CHECK(allocator.stats().out_of_memory == 2);
    CHECK(bench.space.used() == 1_MiB);
    // What fits as asked but not as granted is refused too, and nothing stays behind.
    reservation.shrink_to_fit();
    CHECK(support::must_refuse(allocator, 0).cause == OutOfMemory::Cause::limit);
    CHECK(allocator.usage().allocated == 0);
    CHECK(bench.space.counters().charges == 0);
    CHECK(allocator.stats().out_of_memory == 3);
}

TEST_CASE("what the device refuses is uncharged, call by call", "[tiers][reserved_allocator]") {
    SimDevice device{{.capacity = 64_MiB}};
    for (std::uint64_t nth = 1;; ++nth) {
        FaultyDevice faulty(device, {.nth = nth});
        const auto inner = support::make_policy("vpmm:page=2MiB", faulty);
        MemorySpace space({.capacity = 64_MiB});
        MemoryReservation reservation = std::move(*space.try_reserve(5_MiB));
        ReservedAllocator allocator(*inner, reservation);
        const auto granted = allocator.allocate({.size = 5_MiB});
        CHECK(reservation.used() == (granted ? granted->size : 0));
        CHECK(space.counters().charges == (granted ? 1 : 0));
        CHECK(allocator.stats().out_of_memory == inner->stats().out_of_memory);
        if (granted)
            allocator.deallocate(*granted, {});
        CHECK(reservation.used() == 0);
        const bool over = faulty.failures() == 0;
        faulty.set_plan({});
        if (over) {
            CHECK(nth > 3);  // reserve, create, map and set_access at least
            break;
        }
    }
}

TEST_CASE("a refused charge spills and tries again, the whole request (A1.6)",
          "[tiers][reserved_allocator]") {
    ReservedBench bench;
    MemorySpace space({.capacity = 4_MiB});
    ReservationBindings bindings(space);
    ReservedAllocator allocator(*bench.inner, bindings);
    Victims victims(allocator);
    for (int i = 0; i < 4; ++i)
        victims.held.push_back(support::must_allocate(allocator, 1_MiB));
    space.set_oom_policy(spill_and_retry(victims));  // the space's default is used (defect 6)
    const Allocation large = support::must_allocate(allocator, 3_MiB);
    CHECK(victims.calls == 1);
    CHECK(victims.held.size() == 1);
    CHECK(space.used() == 4_MiB);
    CHECK(allocator.stats().out_of_memory == 0);  // the request was granted

    CHECK(support::must_refuse(allocator, 5_MiB).cause == OutOfMemory::Cause::limit);
    CHECK(victims.held.empty());
    CHECK(victims.calls == 3);  // one byte's worth, then nothing left
    allocator.deallocate(large, {});
    CHECK(space.used() == 0);
}

TEST_CASE("a refused device spills as well, within the reservation",
          "[tiers][reserved_allocator]") {
    SimDevice device{{.capacity = 4_MiB}};
    const auto inner = support::make_policy("cuda-malloc", device);
    MemorySpace space({.capacity = 64_MiB});  // more than there is
    MemoryReservation reservation = std::move(*space.try_reserve(32_MiB));
    const Allocation mine = support::must_allocate(*inner, 1_MiB);
    int requests = 0;
    ReservedAllocator allocator(*inner, reservation, oom_callback([&](const OomFacts& facts) {
        CHECK(facts.refusal.cause == OutOfMemory::Cause::device_full);
        CHECK(facts.missing == 4_MiB);
        CHECK(facts.attempt == static_cast<std::uint32_t>(requests));
        CHECK(reservation.used() == 0);  // nothing is held while the policy works
        if (requests++ == 0)
            inner->deallocate(mine, {});
        return requests <= 2 ? OomAnswer::try_again : OomAnswer::give_up;
    }));
    const Allocation all = support::must_allocate(allocator, 4_MiB);
    CHECK(requests == 1);
    CHECK(allocator.stats().out_of_memory == inner->stats().out_of_memory);
    allocator.deallocate(all, {});
    CHECK(reservation.used() == 0);
}

TEST_CASE("a retired allocation stays charged until it is let go", "[tiers][reserved_allocator]") {
    ReservedBench bench;
    MemoryReservation reservation = bench.reserve(1_MiB);
    ReservedAllocator allocator(*bench.inner, reservation);
    Allocation allocation = support::must_allocate(allocator, 512_KiB);
    allocator.retire(allocation);
    allocator.record_use(allocation, kOther);
    CHECK(allocator.usage().allocated == 0);
    CHECK(bench.inner->usage().allocated == 0);
    CHECK(allocator.usage().active == 512_KiB);
    CHECK(reservation.used() == 512_KiB);
    allocator.deallocate(allocation, {});
    CHECK(reservation.used() == 0);
    CHECK(allocator.usage().active == 0);
    CHECK(allocator.usage().allocated == 0);
}

TEST_CASE("the whole interface passes through", "[tiers][reserved_allocator]") {
    SimDevice device{{.capacity = 64_MiB}};
    const auto inner = support::make_policy("torch", device);
    MemorySpace space({.capacity = 64_MiB});
    MemoryReservation reservation = std::move(*space.try_reserve(30_MiB));
    ReservedAllocator allocator(*inner, reservation);
    constexpr PoolId kPool{7};
    allocator.begin_pool(kPool, {});
    const auto private_one = allocator.allocate({.size = 4_MiB, .pool = kPool});
    REQUIRE(private_one);
    CHECK(allocator.stats().private_reserved == inner->stats().private_reserved);
    CHECK(allocator.stats().private_reserved > 0);
    CHECK(support::regions_of(allocator).size() == support::regions_of(*inner).size());
    allocator.deallocate(*private_one, {});
    allocator.end_pool(kPool);
    allocator.close_pool(kPool);
    CHECK(allocator.usage().reserved > 0);
    allocator.trim_pool(kPool);
    CHECK(allocator.usage().reserved == 0);
    allocator.deallocate(support::must_allocate(allocator, 4_MiB), {});
    CHECK(allocator.largest_free() == inner->largest_free());
    CHECK(allocator.largest_free() > 0);
    reservation.shrink_to_fit();
    auto others = space.charge(63_MiB);
    REQUIRE(others);
    CHECK(allocator.largest_free() == 1_MiB);  // what the space has
    space.uncharge(*others);
    allocator.trim(TrimLevel::all);
    CHECK(allocator.usage().reserved == 0);
    CHECK(allocator.clone(device) == nullptr);
}

TEST_CASE("what a trace begins with is charged, or refused as a whole",
          "[tiers][reserved_allocator]") {
    SimDevice device{{.capacity = 64_MiB}};
    const SeedSegment segment{.range = {Address{0x302000000}, 20_MiB},
                              .stream = kStream,
                              .blocks = {{Address{0x302000000}, 12_MiB, 12_MiB},
                                         {Address{0x302000000} + 12_MiB, 8_MiB, 8_MiB}}};
    for (const bool enough : {true, false}) {
        const auto inner = support::make_policy("torch", device);
        MemorySpace space({.capacity = enough ? 30_MiB : 15_MiB});
        ReservationBindings bindings(space);
        ReservedAllocator allocator(*inner, bindings);
        const auto restored = allocator.restore({&segment, 1});
        CHECK(restored.has_value() == enough);
        CHECK(space.used() == (enough ? 20_MiB : 0));
        CHECK(allocator.usage().allocated == space.used());
        if (enough)
            for (const Allocation& allocation : *restored)
                allocator.deallocate(allocation, kStream);
        CHECK(space.counters().charges == 0);
        CHECK(allocator.usage().allocated == 0);
    }
}

TEST_CASE("an allocator that ends gives back what nobody can free any more",
          "[tiers][reserved_allocator]") {
    ReservedBench bench;
    MemoryReservation reservation = bench.reserve(1_MiB);
    {
        ReservedAllocator allocator(*bench.inner, reservation);
        support::must_allocate(allocator, 512_KiB);
        CHECK(reservation.used() == 512_KiB);
    }
    CHECK(reservation.used() == 0);
    CHECK(bench.space.counters().charges == 0);
}

TEST_CASE("a reservation serves a whole program, by addresses", "[tiers][reserved_allocator]") {
    ReservedBench bench;
    MemoryReservation reservation = bench.reserve(1_MiB);
    reservation.set_over_reservation(fail_over_reservation());
    SharedAllocator shared(std::make_unique<ReservedAllocator>(*bench.inner, reservation),
                           bench.device);
    const auto granted = shared.allocate({.size = 700_KiB});
    REQUIRE(granted);
    CHECK_FALSE(shared.allocate({.size = 700_KiB}));
    CHECK(reservation.used() == 700_KiB);
    REQUIRE(shared.free(granted->begin));
    CHECK(reservation.used() == 0);
}

}  // namespace
}  // namespace tidemark
