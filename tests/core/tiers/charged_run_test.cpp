// ChargedRun: blocks and what a space counts for them always agree, whoever refuses and whichever
// end comes first.
#include "core/tiers/charged_run.h"

#include <memory>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "core/tiers/host_blocks.h"
#include "core/tiers/memory_space.h"
#include "tests/core/tiers/failing_source.h"

namespace tidemark {
namespace {

constexpr Bytes kLargeBlock = 64_KiB;

SpaceSpec host(Bytes capacity, double limit = 1) {
    return {.id = {Tier::host, 0},
            .capacity = capacity,
            .granularity = kLargeBlock,
            .reservation_limit = limit};
}

std::unique_ptr<HostBlocks> make(PinnedSource& source, Bytes capacity) {
    auto blocks = HostBlocks::create(
        source,
        {.block = kLargeBlock, .blocks_per_pool = 16, .initial_pools = 1, .capacity = capacity});
    REQUIRE(blocks);
    return std::move(*blocks);
}

}  // namespace

TEST_CASE("blocks within and beyond a host reservation are counted once (A-T9)",
          "[tiers][charged_run]") {
    FailingSource source;
    const auto blocks = make(source, 16_MiB);
    MemorySpace space(host(16_MiB));
    std::optional<MemoryReservation> reservation = space.try_reserve(2_MiB);
    REQUIRE(reservation);
    CHECK(space.used() == 2_MiB);
    {
        const auto run = ChargedRun::allocate(*blocks, space, *reservation, 4_MiB);
        REQUIRE(run);
        CHECK(run->run().size() == 4_MiB);
        CHECK(space.available() == 12_MiB);
        CHECK(space.counters().reserved == 2_MiB);
        CHECK(space.counters().allocated == 4_MiB);
        CHECK(space.used() == 4_MiB);
    }
    CHECK(space.used() == 2_MiB);
    CHECK(blocks->usage().used == 0);

    auto run = ChargedRun::allocate(*blocks, space, *reservation, 1_MiB);
    REQUIRE(run);
    CHECK(space.used() == 2_MiB);
    CHECK(space.available() == 14_MiB);
    CHECK(reservation->unused() == 1_MiB);
    reservation->release();
    CHECK(space.counters().reserved == 0);
    CHECK(space.used() == 1_MiB);
    CHECK(blocks->usage().used == 1_MiB / kLargeBlock);
    *run = ChargedRun{};
    CHECK(space.used() == 0);
    CHECK(blocks->usage().used == 0);
    CHECK(space.counters().charges == 0);
}

TEST_CASE("whole blocks are charged, and nothing for an empty run that can grow (defect 15)",
          "[tiers][charged_run]") {
    FailingSource source;
    const auto blocks = make(source, 4_MiB);
    MemorySpace space(host(4_MiB));
    auto run = ChargedRun::allocate(*blocks, space, 0);
    REQUIRE(run);
    CHECK(space.used() == 0);
    CHECK(run->grow_by(1));
    CHECK(space.used() == kLargeBlock);
    CHECK(run->grow_by(kLargeBlock + 1));
    CHECK(space.used() == 3 * kLargeBlock);
    CHECK(run->release(1));
    CHECK_FALSE(run->release(1));
    CHECK(space.used() == 2 * kLargeBlock);
    CHECK(run->charge().size == 2 * kLargeBlock);
    run->trim_to(kLargeBlock);
    CHECK(space.used() == kLargeBlock);
    run->clear();
    CHECK(space.used() == 0);
    CHECK(run->grow_by(4_MiB));
    CHECK(space.available() == 0);

    ChargedRun moved = std::move(*run);
    CHECK(run->grow_by(1).error().blocks == BlockRefusal::no_pool);
    CHECK(ChargedRun().grow_by(1).error().by == RunRefusal::By::blocks);
    CHECK(space.used() == 4_MiB);
    moved = ChargedRun{};
    CHECK(space.counters().charges == 0);
    CHECK(space.used() == 0);
}

TEST_CASE("a refusal by the space or by the blocks leaves both as they were (defect 12)",
          "[tiers][charged_run]") {
    FailingSource source;
    MemorySpace space(host(4_MiB));
    SECTION("the space is full") {
        const auto blocks = make(source, 8_MiB);
        auto run = ChargedRun::allocate(*blocks, space, 3_MiB);
        REQUIRE(run);
        const auto more = ChargedRun::allocate(*blocks, space, 1_MiB + 1);
        REQUIRE_FALSE(more);
        CHECK(more.error().by == RunRefusal::By::space);
        CHECK(more.error().charge.cause == ChargeRefusal::Cause::full);
        CHECK(more.error().charge.missing == kLargeBlock);
        CHECK(run->grow_by(1_MiB + 1).error().by == RunRefusal::By::space);
        for (const Bytes size : {kLargestRequest - 1, kLargestRequest, ~Bytes{0}})
            CHECK(run->grow_by(size).error().by == RunRefusal::By::space);
        CHECK(run->grow_by(~Bytes{0}).error().charge.cause == ChargeRefusal::Cause::too_large);
        CHECK(run->run().size() == 3_MiB);
        CHECK(space.used() == 3_MiB);
        CHECK(blocks->usage().used == 3_MiB / kLargeBlock);
    }
    SECTION("the blocks are") {
        const auto blocks = make(source, 2_MiB);
        auto run = ChargedRun::allocate(*blocks, space, 1_MiB);
        REQUIRE(run);
        const auto more = ChargedRun::allocate(*blocks, space, 2_MiB);
        REQUIRE_FALSE(more);
        CHECK(more.error().by == RunRefusal::By::blocks);
        CHECK(more.error().blocks == BlockRefusal::capacity);
        CHECK(run->grow_by(2_MiB).error().blocks == BlockRefusal::capacity);
        CHECK(space.used() == 1_MiB);
        CHECK(run->charge().size == 1_MiB);
    }
    SECTION("pinning fails, with a reservation") {
        const auto blocks = make(source, 4_MiB);
        const auto reservation = space.try_reserve(1_MiB);
        auto run = ChargedRun::allocate(*blocks, space, *reservation, 512_KiB);
        REQUIRE(run);
        source.fail_from(3);
        CHECK(ChargedRun::allocate(*blocks, space, *reservation, 3_MiB).error().blocks ==
              BlockRefusal::source);
        CHECK(run->grow_by(3_MiB).error().blocks == BlockRefusal::source);
        CHECK(space.used() == 1_MiB);
        CHECK(reservation->used() == 512_KiB);
        CHECK(run->run().size() == 512_KiB);
    }
    CHECK(space.counters().charges == 0);
    CHECK(space.used() == 0);
}

TEST_CASE("a reservation of another space, or of nothing, is an error and loses nothing",
          "[tiers][charged_run]") {
    FailingSource source;
    const auto blocks = make(source, 4_MiB);
    MemorySpace space(host(4_MiB));
    MemorySpace gpu({.id = {Tier::gpu, 0}, .capacity = 4_MiB, .granularity = 256});
    const auto wrong = gpu.try_reserve(1_MiB);
    REQUIRE(wrong);
    const auto run = ChargedRun::allocate(*blocks, space, *wrong, 1_MiB);
    REQUIRE_FALSE(run);
    CHECK(run.error().by == RunRefusal::By::wrong_space);
    CHECK(ChargedRun::allocate(*blocks, space, MemoryReservation{}, 1_MiB).error().by ==
          RunRefusal::By::wrong_space);
    CHECK(wrong->size() == 1_MiB);
    CHECK(wrong->used() == 0);
    CHECK(gpu.used() == 1_MiB);
    CHECK(space.used() == 0);
    CHECK(blocks->usage().used == 0);
}

TEST_CASE("blocks find the reservation that paid, not one in its place (defect 14)",
          "[tiers][charged_run]") {
    FailingSource source;
    const auto blocks = make(source, 8_MiB);
    MemorySpace space(host(8_MiB));
    std::optional<MemoryReservation> reservation = space.try_reserve(2_MiB);
    REQUIRE(reservation);
    auto run = ChargedRun::allocate(*blocks, space, *reservation, 1_MiB);
    REQUIRE(run);
    const ReservationId before = reservation->id();
    reservation.reset();
    reservation = space.try_reserve(2_MiB);  // the same handle, the same place in the table
    REQUIRE(reservation);
    REQUIRE(reservation->id().node == before.node);
    REQUIRE(reservation->id().generation != before.generation);
    CHECK(space.used() == 3_MiB);
    CHECK(reservation->used() == 0);

    CHECK(run->grow_by(1_MiB));  // the space pays: the one that it had is gone
    CHECK(space.used() == 4_MiB);
    CHECK(reservation->used() == 0);
    run->trim_to(512_KiB);
    CHECK(space.used() == 2_MiB + 512_KiB);
    *run = ChargedRun{};
    CHECK(space.used() == 2_MiB);
    CHECK(reservation->used() == 0);
    CHECK(reservation->unused() == 2_MiB);
    reservation->release();
    CHECK(space.used() == 0);
}

TEST_CASE("random runs of many threads and reservations count exactly, and end at zero",
          "[tiers][charged_run]") {
    FailingSource source;
    const auto blocks = make(source, 6_MiB);
    MemorySpace space(host(8_MiB, 0.75));
    std::atomic<int> wrong = 0;
    std::atomic<int> had = 0;
    const auto work = [&](std::uint64_t seed) {
        Random random(seed);
        std::vector<ChargedRun> runs(3);
        MemoryReservation reservation;
        for (int i = 0; i < 1500; ++i) {
            ChargedRun& run = runs[random.below(runs.size())];
            const Bytes size = random.below(1_MiB);
            switch (random.below(7)) {
                case 0:
                    reservation = space.reserve_up_to(size);
                    break;
                case 1:
                    reservation.release();
                    break;
                case 2:
                case 3: {
                    auto got = reservation ? ChargedRun::allocate(*blocks, space, reservation, size)
                                           : ChargedRun::allocate(*blocks, space, size);
                    if (got)
                        run = std::move(*got), ++had;
                    break;
                }
                case 4:
                    (void)run.grow_by(size);
                    break;
                case 5:
                    run.trim_to(size);
                    break;
                default:
                    run.release(random.below(8));
            }
            wrong += run.charge().size != run.run().size();
            const SpaceCounters counters = space.counters();
            wrong += counters.used > 8_MiB ||
                     counters.used != counters.allocated + counters.unused_reserved;
        }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        threads.emplace_back(work, seed);
    for (std::thread& thread : threads)
        thread.join();
    CHECK(wrong == 0);
    CHECK(had > 500);
    const SpaceCounters counters = space.counters();
    CHECK(counters.used == 0);
    CHECK(counters.allocated == 0);
    CHECK(counters.charges == 0);
    CHECK(counters.reservations == 0);
    CHECK(blocks->usage().used == 0);
}

}  // namespace tidemark
