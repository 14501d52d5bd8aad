// cupy: cases worked out by hand; that it is CuPy's is shown by tests/truth.
#include <catch2/catch.hpp>

#include "tests/support/placements.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::calls;
using support::must_allocate;
using support::must_refuse;
using support::placements;

TEST_CASE("cupy takes from the device what a request needs, for its stream alone", "[cupy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("cupy", device);

    CHECK(placements(*policy) ==
          "A=s0+0K B=s1+0K C=s2+0K D=s3+0K E=s4+0K F=s1+0K G=s5+0K H=s6+0K I=s2+0K J=s7+0K "
          "K=s1+0K");
    CHECK(policy->usage().reserved == 31126016);
    CHECK(policy->stats().segments_created == 8);
}

TEST_CASE("cupy gives whole segments back where a request would pass the limit", "[cupy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("cupy:limit=20MiB", device);

    CHECK(placements(*policy) ==
          "A=s0+0K B=s1+0K C=s2+0K D=s3+0K E=s4+0K F=s1+0K G=s5+0K H=s6+0K I=s7+0K J=s8+0K "
          "K=s6+0K");
    CHECK(policy->usage().reserved == 16778240);
    CHECK(policy->stats().segments_created - policy->stats().segments_released == 4);
}

TEST_CASE("cupy refuses what is above its limit without giving anything back", "[cupy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("cupy:limit=4MiB", device);
    policy->deallocate(must_allocate(*policy, 1_MiB), {});

    CHECK(must_refuse(*policy, 4_MiB + 1).cause == OutOfMemory::Cause::limit);
    CHECK(policy->usage().reserved == 1_MiB);

    must_allocate(*policy, 4_MiB);
    CHECK(policy->usage().reserved == 4_MiB);
}

TEST_CASE("cupy takes the one of several equal chunks that is asked for, and counts it", "[cupy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("cupy", device);
    const Allocation low = must_allocate(*policy, 1_MiB);
    const Allocation large = must_allocate(*policy, 2_MiB);
    const Allocation high = must_allocate(*policy, 1_MiB);
    for (const Allocation& each : {low, large, high})
        policy->deallocate(each, {});
    const auto request = [](Address where) {
        return Request{.size = 1_MiB, .among_equals = where};
    };

    CHECK(policy->allocate(request(large.address))->address == low.address);
    CHECK(policy->stats().ties == 0);
    policy->deallocate(low, {});
    CHECK(policy->allocate(request(high.address))->address == high.address);
    CHECK(policy->stats().ties == 1);
    CHECK(policy->allocate(request(low.address))->address == low.address);
    CHECK(policy->stats().ties == 1);
}

TEST_CASE("cupy orders what another stream used before it is used again", "[cupy]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("cupy", device);
    const Allocation a = must_allocate(*policy, 1_MiB, StreamId{1});
    policy->deallocate(a, StreamId{1});
    CHECK(must_allocate(*policy, 1_MiB, StreamId{1}).address == a.address);
    CHECK(calls(device, DeviceCall::wait) == 0);

    policy->record_use(a, StreamId{2});
    policy->deallocate(a, StreamId{2});
    CHECK(must_allocate(*policy, 1_MiB, StreamId{2}).address != a.address);
    CHECK(must_allocate(*policy, 1_MiB, StreamId{1}).address == a.address);

    CHECK(calls(device, DeviceCall::wait) == 1);
}

}  // namespace
}  // namespace tidemark
