// buddy: what it promises beyond what every policy promises (tests/properties).
#include <catch2/catch.hpp>

#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::calls;
using support::must_allocate;

TEST_CASE("buddy rounds requests up to powers of two", "[buddy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("buddy:segment=4MiB,min_block=1KiB", device);

    CHECK(must_allocate(*policy, 0).size == 1_KiB);
    CHECK(must_allocate(*policy, 1024).size == 1_KiB);
    CHECK(must_allocate(*policy, 1025).size == 2_KiB);
    CHECK(must_allocate(*policy, 1_MiB + 1).size == 2_MiB);
}

TEST_CASE("buddy halves a segment from its low end and joins twins again", "[buddy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("buddy:segment=4MiB", device);

    const Allocation a = must_allocate(*policy, 1_MiB);
    const Allocation b = must_allocate(*policy, 512_KiB);

    const std::vector<Region> regions = support::regions_of(*policy);
    REQUIRE(regions.size() == 4);
    CHECK(regions[0].range == Range{a.address, 1_MiB});
    CHECK(regions[1].range == Range{a.address + 1_MiB, 512_KiB});
    CHECK(regions[1].range.begin == b.address);
    CHECK(regions[2].range == Range{a.address + 1_MiB + 512_KiB, 512_KiB});
    CHECK(regions[3].range == Range{a.address + 2_MiB, 2_MiB});

    policy->deallocate(a, {});
    CHECK(policy->largest_free() == 2_MiB);
    policy->deallocate(b, {});
    CHECK(policy->largest_free() == 4_MiB);
    CHECK(support::regions_of(*policy).size() == 1);
}

TEST_CASE("buddy never joins neighbours that are not twins", "[buddy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("buddy:segment=4MiB", device);
    std::vector<Allocation> quarters;
    for (int i = 0; i < 4; ++i)
        quarters.push_back(must_allocate(*policy, 1_MiB));

    policy->deallocate(quarters[1], {});
    policy->deallocate(quarters[2], {});

    CHECK(policy->largest_free() == 1_MiB);
    policy->deallocate(quarters[0], {});
    CHECK(policy->largest_free() == 2_MiB);
}

TEST_CASE("buddy takes the lowest of the smallest blocks that fit", "[buddy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("buddy:segment=8MiB", device);
    std::vector<Allocation> eighths;
    for (int i = 0; i < 8; ++i)
        eighths.push_back(must_allocate(*policy, 1_MiB));
    policy->deallocate(eighths[0], {});
    policy->deallocate(eighths[1], {});  // 0 and 1 join: a block of 2 MiB
    policy->deallocate(eighths[6], {});
    policy->deallocate(eighths[4], {});

    CHECK(must_allocate(*policy, 1_MiB).address == eighths[4].address);
    CHECK(must_allocate(*policy, 1_MiB).address == eighths[6].address);
    CHECK(must_allocate(*policy, 1_MiB).address == eighths[0].address);
}

TEST_CASE("buddy takes a segment of its own power of two for a request above the segment",
          "[buddy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("buddy:segment=4MiB", device);

    const Allocation large = must_allocate(*policy, 9_MiB);

    CHECK(policy->usage().reserved == 16_MiB);
    policy->deallocate(large, {});
    policy->trim(TrimLevel::all);
    CHECK(policy->usage().reserved == 0);
}

TEST_CASE("buddy makes a stream wait only for others whose memory it gets", "[buddy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("buddy:segment=4MiB", device);

    const Allocation a = must_allocate(*policy, 4_MiB, StreamId{1});
    policy->deallocate(a, StreamId{1});
    const Allocation same = must_allocate(*policy, 4_MiB, StreamId{1});
    CHECK(calls(device, DeviceCall::wait) == 0);

    policy->record_use(same, StreamId{2});
    policy->deallocate(same, StreamId{1});
    must_allocate(*policy, 4_MiB, StreamId{3});
    CHECK(calls(device, DeviceCall::record) == 2);
    CHECK(calls(device, DeviceCall::wait) == 2);
    CHECK(policy->usage().reserved == 4_MiB);
}

TEST_CASE("buddy still orders a stream behind the one that retired the memory", "[buddy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("buddy:segment=4MiB", device);
    Allocation a = must_allocate(*policy, 4_MiB, StreamId{1});
    policy->record_use(a, StreamId{2});

    policy->retire(a);
    policy->deallocate(a, StreamId{1});
    must_allocate(*policy, 4_MiB, StreamId{3});

    CHECK(calls(device, DeviceCall::wait) == 1);  // for stream 1; stream 2 is known to be done
}

}  // namespace
}  // namespace tidemark
