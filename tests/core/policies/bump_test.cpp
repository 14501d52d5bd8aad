// bump: what it promises beyond what every policy promises (tests/properties).
#include <catch2/catch.hpp>

#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::calls;
using support::must_allocate;

TEST_CASE("bump grants increasing addresses and never one twice", "[bump]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("bump:segment=2MiB", device);
    Address last = Address::null;

    for (int i = 0; i < 100; ++i) {
        const Allocation one = must_allocate(*policy, 700);
        REQUIRE(one.size == 1024);
        REQUIRE(last < one.address);
        last = one.address;
        policy->deallocate(one, {});
    }

    CHECK(policy->usage().reserved == 2_MiB);
    CHECK(calls(device, DeviceCall::malloc) == 1);
}

TEST_CASE("bump gives a segment back when nothing lives in it and the cursor has left", "[bump]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("bump:segment=2MiB", device);
    const Allocation a = must_allocate(*policy, 1_MiB);
    const Allocation b = must_allocate(*policy, 1_MiB);

    const Allocation c = must_allocate(*policy, 512);
    policy->deallocate(a, {});
    CHECK(policy->usage().reserved == 4_MiB);
    policy->deallocate(b, {});
    CHECK(policy->usage().reserved == 2_MiB);
    policy->deallocate(c, {});
    CHECK(policy->usage().reserved == 2_MiB);

    policy->trim(TrimLevel::unused);
    CHECK(policy->usage().reserved == 0);
}

TEST_CASE("bump gives a dead segment back when the cursor leaves it", "[bump]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("bump:segment=2MiB", device);

    for (int i = 0; i < 100; ++i)
        policy->deallocate(must_allocate(*policy, 1_MiB), {});

    CHECK(policy->usage().reserved == 2_MiB);
    CHECK(policy->stats().segments_created == 50);
}

TEST_CASE("bump keeps dead segments until the device is full when told so", "[bump]") {
    SimDevice device(support::small_device(8_MiB));
    const auto policy = support::make_policy("bump:segment=2MiB,release_empty=false", device);

    for (int i = 0; i < 8; ++i)
        policy->deallocate(must_allocate(*policy, 1_MiB), {});
    CHECK(policy->usage().reserved == 8_MiB);
    CHECK(calls(device, DeviceCall::free) == 0);

    must_allocate(*policy, 1_MiB);
    CHECK(policy->stats().retries == 1);
    CHECK(policy->usage().reserved == 2_MiB);
}

TEST_CASE("bump leaves the cursor where it is when a large request takes a segment of its own",
          "[bump]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("bump:segment=2MiB", device);
    const Allocation first = must_allocate(*policy, 512);

    const Allocation large = must_allocate(*policy, 10_MiB);
    const Allocation next = must_allocate(*policy, 512);

    CHECK(next.address == first.address + 512);
    policy->deallocate(large, {});
    CHECK(policy->usage().reserved == 2_MiB);
}

TEST_CASE("bump takes only what is needed when the device has no whole segment left", "[bump]") {
    SimDevice device(support::small_device(10_MiB));
    const auto policy = support::make_policy("bump:segment=8MiB", device);
    must_allocate(*policy, 7_MiB);

    must_allocate(*policy, 2_MiB);

    CHECK(policy->usage().reserved == 10_MiB);
    CHECK(support::must_refuse(*policy, 2_MiB).cause == OutOfMemory::Cause::device_full);
    CHECK(policy->stats().out_of_memory == 1);
}

TEST_CASE("bump shows its past as holes and the rest of its segment as free", "[bump]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("bump:segment=2MiB,alignment=1KiB", device);
    const Allocation dead = must_allocate(*policy, 1);
    const Allocation live = must_allocate(*policy, 1025);
    policy->deallocate(dead, {});

    const std::vector<Region> regions = support::regions_of(*policy);

    REQUIRE(regions.size() == 3);
    CHECK(regions[0].state == Region::State::hole);
    CHECK(regions[0].range.size == 1_KiB);
    CHECK(regions[1].state == Region::State::allocated);
    CHECK(regions[1].range == Range{live.address, 2_KiB});
    CHECK(regions[2].state == Region::State::free);
    CHECK(regions[2].range.size == 2_MiB - 3_KiB);
    CHECK(policy->largest_free() == 2_MiB - 3_KiB);
}

TEST_CASE("bump makes no call to order streams", "[bump]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("bump:segment=2MiB", device);

    const Allocation a = must_allocate(*policy, 512, StreamId{1});
    policy->record_use(a, StreamId{2});
    policy->deallocate(a, StreamId{1});
    must_allocate(*policy, 512, StreamId{3});

    CHECK(device.counters().total_calls() == 1);
}

}  // namespace
}  // namespace tidemark
