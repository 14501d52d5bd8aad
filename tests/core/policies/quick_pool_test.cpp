// quick-pool: cases worked out by hand from the rules of Umpire's QuickPool.
#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/support/placements.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::must_allocate;
using support::placements;

TEST_CASE("quick-pool makes one segment of the most that was in use when all is free",
          "[quick-pool]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("quick-pool:first=8MiB,next=1MiB", device);

    CHECK(placements(*policy) ==
          "A=s0+0K B=s0+1024K C=s0+4096K D=s1+0K E=s0+1024K F=s0+2097264 G=s2+0K H=s3+0K "
          "I=s0+0K J=s4+0K K=s2+0K");
    CHECK(policy->largest_free() == 16777632);
    CHECK(policy->usage().reserved == 16777728);  // which the device rounds up to
    CHECK(policy->stats().segments_created - policy->stats().segments_released == 1);
}

TEST_CASE("quick-pool takes the oldest of equal chunks", "[quick-pool]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("quick-pool:first=1MiB,threshold=0", device);
    const Allocation a = must_allocate(*policy, 1_MiB);
    const Allocation b = must_allocate(*policy, 1_MiB);
    const Allocation c = must_allocate(*policy, 1_MiB);
    for (const Allocation& each : {b, c, a})
        policy->deallocate(each, {});

    CHECK(must_allocate(*policy, 1_MiB).address == b.address);
    CHECK(must_allocate(*policy, 1_MiB).address == c.address);
    CHECK(must_allocate(*policy, 1_MiB).address == a.address);
}

TEST_CASE("quick-pool makes one segment of so many, or of so much", "[quick-pool]") {
    for (const char* heuristic :
         {"coalesce=blocks_releasable,threshold=2", "coalesce=percent_releasable,threshold=50"}) {
        CAPTURE(heuristic);
        SimDevice device(support::small_device(64_MiB));
        const auto policy =
            support::make_policy(std::string("quick-pool:first=1MiB,") + heuristic, device);
        const Allocation a = must_allocate(*policy, 1_MiB);
        const Allocation b = must_allocate(*policy, 1_MiB);
        must_allocate(*policy, 2_MiB);

        policy->deallocate(a, {});
        CHECK(policy->largest_free() == 1_MiB);
        policy->deallocate(b, {});

        CHECK(policy->largest_free() == 2_MiB);
        CHECK(policy->usage().reserved == 4_MiB);
    }
}

// llnl/Umpire #906, at the sizes of a GPU.
TEST_CASE("quick-pool makes one segment once, not each time that all is free", "[quick-pool]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("quick-pool:first=16,next=16", device);
    for (int round = 0; round < 20; ++round) {
        INFO("round " << round);
        const Allocation a = must_allocate(*policy, 4_MiB);
        const Allocation b = must_allocate(*policy, 2_MiB);
        const Allocation c = must_allocate(*policy, 3_MiB);
        for (const Allocation& each : {b, a, c})
            policy->deallocate(each, {});
        CHECK(policy->stats().segments_created == 4);
        CHECK(policy->stats().segments_released == 3);
        CHECK(policy->largest_free() == 9_MiB);
    }
}

TEST_CASE("quick-pool gives unused segments back where the device refuses", "[quick-pool]") {
    SimDevice device(support::small_device(16_MiB));
    const auto policy = support::make_policy("quick-pool:first=8MiB,threshold=0", device);
    policy->deallocate(must_allocate(*policy, 8_MiB), {});

    must_allocate(*policy, 16_MiB);

    CHECK(policy->usage().reserved == 16_MiB);
}

TEST_CASE("quick-pool refuses sizes that its alignment contradicts", "[quick-pool]") {
    SimDevice device(support::small_device(64_MiB));
    CHECK_FALSE(parse_policy("quick-pool:alignment=48")->make(device));
    CHECK_FALSE(parse_policy("quick-pool:alignment=512,next=1000")->make(device));
}

}  // namespace
}  // namespace tidemark
