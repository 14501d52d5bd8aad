// tlsf: cases worked out by hand.
#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::must_allocate;

TEST_CASE("tlsf takes the block that came last into the first list of which any fits", "[tlsf]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("tlsf:segment=2097664", device);  // 2 MiB + 512
    const Allocation a = must_allocate(*policy, 2_MiB);
    const Allocation b = must_allocate(*policy, 2_MiB);  // of one list with a
    policy->deallocate(a, {});
    policy->deallocate(b, {});

    CHECK(must_allocate(*policy, 1_MiB + 512).address == b.address);
    CHECK(must_allocate(*policy, 2_MiB).address == a.address);
}

TEST_CASE("tlsf overlooks a block that is larger than a request by less than a step", "[tlsf]") {
    SimDevice device(support::small_device(64_MiB));
    // 1 MiB + 16 KiB: half a step more than the request.
    const auto policy = support::make_policy("tlsf:segment=1064960,steps=32", device);
    policy->deallocate(must_allocate(*policy, 1_MiB), {});

    must_allocate(*policy, 1_MiB + 1_KiB);
    CHECK(policy->stats().segments_created == 2);
    must_allocate(*policy, 1_MiB);
    CHECK(policy->stats().segments_created == 2);
}

TEST_CASE("tlsf cuts exactly and joins neighbours again", "[tlsf]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("tlsf:segment=4MiB", device);
    const Allocation a = must_allocate(*policy, 1_MiB);
    const Allocation b = must_allocate(*policy, 1000);
    CHECK(b.address == a.address + 1_MiB);
    CHECK(b.size == 1024);

    policy->deallocate(a, {});
    policy->deallocate(b, {});

    CHECK(policy->largest_free() == 4_MiB);
    CHECK(support::regions_of(*policy).size() == 1);
}

TEST_CASE("tlsf finds its own segment again", "[tlsf]") {
    SimDevice device(support::small_device(256_MiB));
    const auto policy = support::make_policy("tlsf", device);
    for (int i = 0; i < 5; ++i)
        policy->deallocate(must_allocate(*policy, 33_MiB + 512), {});

    CHECK(policy->stats().segments_created == 1);
    CHECK(policy->usage().reserved == 34_MiB);  // a step of 1 MiB more at most
}

TEST_CASE("tlsf refuses steps that are no power of two", "[tlsf]") {
    SimDevice device(support::small_device(64_MiB));
    CHECK_FALSE(parse_policy("tlsf:steps=5")->make(device));
    CHECK_FALSE(parse_policy("tlsf:segment=1000")->make(device));
}

}  // namespace
}  // namespace tidemark
