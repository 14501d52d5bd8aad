// The rmm policies: cases worked out by hand; that they are RMM's is shown by tests/truth.
#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/support/placements.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::calls;
using support::must_allocate;
using support::placements;

TEST_CASE("rmm-pool grows by what it has, and searches its own list first", "[rmm]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("rmm-pool", device);

    CHECK(placements(*policy) ==
          "A=s0+0K B=s1+0K C=s2+0K D=s3+0K E=s3+5120K F=s1+0K G=s4+0K H=s4+4096K I=s2+0K "
          "J=s5+0K K=s4+4096K");
    CHECK(policy->usage().reserved == 67108864);
    CHECK(policy->stats().segments_created == 6);
}

TEST_CASE("rmm-pool below a maximum gives whole segments back to make room", "[rmm]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("rmm-pool:initial=8MiB,maximum=16MiB", device);

    CHECK(placements(*policy) ==
          "A=s0+0K B=s0+1024K C=s0+4096K D=s1+0K E=s0+4796K F=s0+1024K G=s0+0K H=s2+0K "
          "I=s0+4096K J=refused K=s2+0K");  // D's segment was given back for H
    CHECK(policy->usage().reserved == 14680064);
    CHECK(policy->stats().segments_created == 3);
    CHECK(policy->stats().segments_released == 1);
}

TEST_CASE("rmm-pool takes half as much where the device refuses", "[rmm]") {
    SimDevice device(support::small_device(40_MiB));
    const auto policy = support::make_policy("rmm-pool", device);
    must_allocate(*policy, 16_MiB);

    must_allocate(*policy, 10_MiB);
    CHECK(policy->usage().reserved == 32_MiB);
    must_allocate(*policy, 7_MiB);

    CHECK(policy->usage().reserved == 40_MiB);  // 32 refused, 16 refused, 8 granted
}

TEST_CASE("rmm-pool refuses what its options contradict", "[rmm]") {
    SimDevice device(support::small_device(64_MiB));
    CHECK_FALSE(parse_policy("rmm-pool:initial=100")->make(device));
    CHECK_FALSE(parse_policy("rmm-pool:initial=2MiB,maximum=1MiB")->make(device));
}

TEST_CASE("rmm-pool records an event a free, and waits for one to take from another stream",
          "[rmm]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("rmm-pool:initial=8MiB", device);
    const Allocation a = must_allocate(*policy, 8_MiB, StreamId{1});
    policy->deallocate(a, StreamId{1});
    CHECK(calls(device, DeviceCall::record) == 1);
    const auto waits = calls(device, DeviceCall::wait);

    CHECK(must_allocate(*policy, 1_MiB, StreamId{2}).address == a.address);

    CHECK(calls(device, DeviceCall::wait) == waits + 1);
}

TEST_CASE("rmm-fixed uses blocks first in, first out", "[rmm]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("rmm-fixed:block=1MiB,preallocate=4", device);
    const Allocation a = must_allocate(*policy, 1, StreamId{1});
    const Allocation b = must_allocate(*policy, 1_MiB, StreamId{1});
    CHECK(b.address == a.address + 1_MiB);
    policy->deallocate(b, StreamId{1});
    policy->deallocate(a, StreamId{1});

    CHECK(must_allocate(*policy, 5, StreamId{1}).address == b.address);
    CHECK(must_allocate(*policy, 5, StreamId{1}).address == a.address);

    CHECK_FALSE(policy->allocate({.size = 1_MiB + 1}));
    CHECK(policy->usage().reserved == 4_MiB);
}

TEST_CASE("rmm-binning takes the smallest bin that fits, and its pool for what is larger",
          "[rmm]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("rmm-binning:min=12,max=13", device);

    CHECK(must_allocate(*policy, 4096).size == 4096);
    CHECK(policy->usage().reserved == 128 * (4_KiB + 8_KiB));
    CHECK(must_allocate(*policy, 4097).size == 8192);
    CHECK(must_allocate(*policy, 8193).size == 8448);

    CHECK(policy->usage().reserved == 2 * 128 * (4_KiB + 8_KiB));
}

TEST_CASE("rmm-arena keeps small requests of a stream in superblocks of its own", "[rmm]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("rmm-arena:size=8MiB", device);

    const Allocation a = must_allocate(*policy, 1000, StreamId{1});
    const Allocation b = must_allocate(*policy, 1000, StreamId{2});
    const Allocation c = must_allocate(*policy, 1000, StreamId{1});
    const Allocation large = must_allocate(*policy, 3_MiB, StreamId{1});

    CHECK(b.address == a.address + 1_MiB);
    CHECK(c.address == a.address + 1024);
    CHECK(large.address == a.address + 2_MiB);
    CHECK(policy->usage().reserved == 8_MiB);
}

TEST_CASE("rmm-arena gathers all superblocks when nothing fits", "[rmm]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("rmm-arena:size=4MiB", device);
    const Allocation a = must_allocate(*policy, 1000, StreamId{1});
    policy->deallocate(a, StreamId{1});
    CHECK(calls(device, DeviceCall::synchronize_device) == 0);

    CHECK(must_allocate(*policy, 4_MiB, StreamId{2}).address == a.address);

    CHECK(calls(device, DeviceCall::synchronize_device) == 1);
}

TEST_CASE("the rmm policies are found by the names of RMM's classes", "[rmm]") {
    CHECK((*find_policy("pool_memory_resource"))->name == "rmm-pool");
    CHECK((*find_policy("arena_memory_resource"))->name == "rmm-arena");
    CHECK((*find_policy("binning_memory_resource"))->name == "rmm-binning");
    CHECK((*find_policy("fixed_size_memory_resource"))->name == "rmm-fixed");
    CHECK((*find_policy("cuda_async_memory_resource"))->name == "rmm-cuda-async");
    CHECK_FALSE(find_policy("memory_resource"));
}

}  // namespace
}  // namespace tidemark
