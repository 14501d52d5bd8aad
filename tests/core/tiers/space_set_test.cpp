// The spaces of a machine: found by id and tier, summed up, and deaf to nothing that frees memory.
#include "core/tiers/space_set.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/core/tiers/small_machine.h"

namespace {

using namespace tidemark;

// GPU 2 GiB, host 4 GiB, three quarters of each to reserve.
std::unique_ptr<SpaceSet> two_tiers() {
    return make_spaces(
        {small_space({Tier::gpu, 0}, 2_GiB, 0.75), small_space({Tier::host, 0}, 4_GiB, 0.75)});
}

TEST_CASE("Spaces are found by id, with their limits (A-T1)", "[tiers][spaces]") {
    const auto spaces = two_tiers();
    const MemorySpace* gpu = spaces->find({Tier::gpu, 0});
    REQUIRE(gpu != nullptr);
    CHECK(gpu->id() == SpaceId{Tier::gpu, 0});
    CHECK(gpu->thresholds().limit == 1536_MiB);
    CHECK(gpu->available() == 2_GiB);
    const MemorySpace* host = spaces->find({Tier::host, 0});
    REQUIRE(host != nullptr);
    CHECK(host->id() == SpaceId{Tier::host, 0});
    CHECK(host->thresholds().limit == 3_GiB);
    CHECK(host->available() == 4_GiB);
    CHECK(spaces->find({Tier::gpu, 1}) == nullptr);
    CHECK(spaces->find({Tier::host, 1}) == nullptr);
    CHECK(spaces->find({Tier::disk, 0}) == nullptr);
    CHECK(!spaces->position({Tier::gpu, -1}));
    CHECK(spaces->position({Tier::host, 0}) == 1);
    CHECK(&spaces->at(1) == host);
}

TEST_CASE("Reservations are counted by space, by tier and in all (A-T2)", "[tiers][spaces]") {
    const auto spaces = two_tiers();
    MemorySpace& gpu = *spaces->find({Tier::gpu, 0});
    MemorySpace& host = *spaces->find({Tier::host, 0});
    auto on_gpu = gpu.try_reserve(200_MiB);
    REQUIRE(on_gpu);
    CHECK(spaces->counters(Tier::gpu).reserved == 200_MiB);
    CHECK(spaces->counters(Tier::host) == SpaceCounters{});
    auto on_host = host.try_reserve(500_MiB);
    REQUIRE(on_host);
    CHECK(on_gpu->size() == 200_MiB);
    CHECK(on_host->size() == 500_MiB);
    CHECK(spaces->counters(Tier::gpu).reserved == 200_MiB);
    CHECK(spaces->counters(Tier::host).reserved == 500_MiB);
    CHECK(spaces->counters(Tier::gpu).reservations == 1);
    CHECK(spaces->counters(Tier::host).reservations == 1);
    CHECK(spaces->counters().reserved == 700_MiB);
    CHECK(spaces->counters().reservations == 2);
    CHECK(spaces->available(Tier::gpu) == 2_GiB - 200_MiB);
    CHECK(spaces->available(Tier::host) == 4_GiB - 500_MiB);
    CHECK(spaces->available(Tier::disk) == 0);
    CHECK(spaces->available() == 6_GiB - 700_MiB);
    on_gpu.reset();
    on_host.reset();
    CHECK(spaces->counters().used == 0);
    CHECK(spaces->counters().reserved == 0);
    CHECK(spaces->counters().reservations == 0);
    CHECK(spaces->counters().peak_used == 700_MiB);
    CHECK(spaces->available() == 6_GiB);
}

TEST_CASE("The spaces of a tier come in order of their index", "[tiers][spaces]") {
    const auto spaces =
        make_spaces({small_space({Tier::gpu, 0}, 10), small_space({Tier::gpu, 3}, 20),
                     small_space({Tier::disk, 1}, 30)});
    const auto gpus = spaces->of_tier(Tier::gpu);
    REQUIRE(gpus.size() == 2);
    CHECK(gpus[0]->id() == SpaceId{Tier::gpu, 0});
    CHECK(gpus[1]->id() == SpaceId{Tier::gpu, 3});
    CHECK(spaces->of_tier(Tier::host).empty());
    CHECK(spaces->of_tier(Tier::disk).size() == 1);
}

TEST_CASE("A machine that cannot be waited for is refused", "[tiers][spaces]") {
    CHECK(!SpaceSet::make(MachineSpec{"empty", {}, {}, {}}));
    std::vector<SpaceSpec> many;
    for (std::int32_t index = 0; index < 64; ++index)
        many.push_back(small_space({Tier::gpu, index}, 1));
    CHECK(SpaceSet::make(MachineSpec{"most", many, {}, {}}));
    many.push_back(small_space({Tier::gpu, 64}, 1));
    const auto refused = SpaceSet::make(MachineSpec{"too many", many, {}, {}});
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::bad_input);
}

// Whatever gives room back reaches one who waits: specs A1.10 knows releases alone.
TEST_CASE("Release, shrink, free and an announcement each wake who waits", "[tiers][spaces]") {
    const auto spaces = make_spaces({small_space({Tier::gpu, 0}, 100)});
    MemorySpace& space = spaces->at(0);
    MemoryReservation kept = std::move(*space.try_reserve(60));
    Charge charge = *space.charge(40);
    std::optional<MemoryReservation> got;
    std::atomic<bool> elsewhere = false;
    WaitEnd end = WaitEnd::timed_out;
    std::thread waiter([&] {
        const auto take = [&](SpaceMask) -> SpaceMask {
            if (elsewhere)
                return 1;
            got = space.try_reserve(40);
            return got ? 1 : 0;
        };
        end = spaces->queue().wait({.spaces = 1}, take).end;
    });
    while (spaces->queue().waiting() == 0)
        std::this_thread::yield();
    SECTION("a plain allocation is freed") {
        space.uncharge(charge);
    }
    SECTION("a reservation shrinks") {
        CHECK(kept.shrink_to_fit() == 60);
    }
    SECTION("a reservation ends") {
        kept.release();
    }
    SECTION("somebody has freed what is not counted here") {
        elsewhere = true;
        space.announce_capacity();
    }
    waiter.join();
    CHECK(end == WaitEnd::granted);
    space.uncharge(charge);
}

}  // namespace
