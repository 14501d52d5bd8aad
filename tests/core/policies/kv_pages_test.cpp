// kv-pages: cases worked out by hand.
#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::calls;
using support::must_allocate;
using support::must_refuse;

TEST_CASE("kv-pages maps only what an idle slot lacks", "[kv-pages]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("kv-pages", device);
    const Allocation a = must_allocate(*policy, 6_MiB);
    CHECK(calls(device, DeviceCall::map) == 3);
    policy->deallocate(a, {});
    CHECK(policy->usage().reserved == 6_MiB);

    const Allocation less = must_allocate(*policy, 4_MiB - 1);
    CHECK(less.address == a.address);
    CHECK(less.size == 4_MiB);
    policy->deallocate(less, {});
    CHECK(calls(device, DeviceCall::map) == 3);

    CHECK(must_allocate(*policy, 10_MiB).address == a.address);
    CHECK(calls(device, DeviceCall::map) == 5);
    CHECK(calls(device, DeviceCall::unmap) == 0);
}

TEST_CASE("kv-pages takes the idle slot with just enough pages, else the one with most",
          "[kv-pages]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("kv-pages", device);
    const Allocation two = must_allocate(*policy, 4_MiB);
    const Allocation four = must_allocate(*policy, 8_MiB);
    const Allocation three = must_allocate(*policy, 6_MiB);
    for (const Allocation& each : {two, four, three})
        policy->deallocate(each, {});

    const Allocation fits = must_allocate(*policy, 5_MiB);
    CHECK(fits.address == three.address);
    policy->deallocate(fits, {});
    CHECK(must_allocate(*policy, 9_MiB).address == four.address);
    CHECK(policy->usage().reserved == 20_MiB);
}

TEST_CASE("kv-pages takes the pages of idle slots, the oldest first, when there are no more",
          "[kv-pages]") {
    SimDevice device(support::small_device(16_MiB));
    const auto policy = support::make_policy("kv-pages:slot=8MiB", device);
    const Allocation old = must_allocate(*policy, 8_MiB);
    const Allocation young = must_allocate(*policy, 8_MiB);
    policy->deallocate(old, {});
    policy->deallocate(young, {});

    const Allocation wide = must_allocate(*policy, 12_MiB);

    CHECK(policy->usage().reserved == 16_MiB);
    CHECK(policy->stats().retries == 1);
    CHECK(must_allocate(*policy, 4_MiB).address == young.address);
    must_refuse(*policy, 2_MiB);
    policy->deallocate(wide, {});
    must_allocate(*policy, 2_MiB);
}

TEST_CASE("kv-pages keeps its limit", "[kv-pages]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("kv-pages:limit=8MiB", device);
    const Allocation a = must_allocate(*policy, 6_MiB);
    CHECK(must_refuse(*policy, 4_MiB).cause == OutOfMemory::Cause::limit);
    policy->deallocate(a, {});

    must_allocate(*policy, 8_MiB);
    CHECK(policy->usage().reserved == 8_MiB);
}

TEST_CASE("kv-pages puts small requests of one size into a page", "[kv-pages]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("kv-pages", device);
    const Allocation a = must_allocate(*policy, 1000);
    const Allocation b = must_allocate(*policy, 600);
    const Allocation other = must_allocate(*policy, 4000);

    CHECK(a.size == 1024);
    CHECK(b.address == a.address + 1024);
    CHECK(other.address != b.address + 1024);
    CHECK(policy->usage().reserved == 4_MiB);

    policy->deallocate(a, {});
    policy->deallocate(b, {});
    CHECK(must_allocate(*policy, 2_MiB).address == a.address);
}

TEST_CASE("kv-pages gives idle pages back when it is trimmed, and what slots have beyond need",
          "[kv-pages]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("kv-pages", device);
    policy->deallocate(must_allocate(*policy, 6_MiB), {});
    const Allocation less = must_allocate(*policy, 2_MiB);
    policy->deallocate(must_allocate(*policy, 4_MiB), {});

    policy->trim(TrimLevel::all);

    CHECK(policy->usage().reserved == 2_MiB);
    CHECK(support::regions_of(*policy).size() == 1);
    policy->deallocate(less, {});
}

TEST_CASE("kv-pages refuses pages that the device cannot map", "[kv-pages]") {
    SimDevice device(support::small_device(64_MiB));
    CHECK_FALSE(parse_policy("kv-pages:page=64KiB")->make(device));
    CHECK_FALSE(parse_policy("kv-pages:page=6MiB")->make(device));
}

}  // namespace
}  // namespace tidemark
