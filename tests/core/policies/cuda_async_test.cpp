// cuda-async, and torch's backend cudaMallocAsync: the device's pool under a threshold.
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/device.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::must_allocate;

Bytes reserved_after_wait(const std::string& policy_text) {
    SimDevice device(support::small_device(1_GiB));
    const auto policy = support::make_policy(policy_text, device);
    const Allocation a = must_allocate(*policy, 40_MiB, StreamId{1});
    const Allocation b = must_allocate(*policy, 100_MiB, StreamId{1});
    CHECK(b.address - a.address == 40_MiB);
    CHECK(policy->usage().reserved == 160_MiB);
    policy->deallocate(b, StreamId{1});
    REQUIRE(device.synchronize_device());
    policy->deallocate(must_allocate(*policy, 512, StreamId{1}), StreamId{1});
    return policy->usage().reserved;
}

}  // namespace

TEST_CASE("cuda-async keeps its threshold at a synchronization", "[cuda-async]") {
    CHECK(reserved_after_wait("cuda-async") == 64_MiB);
    CHECK(reserved_after_wait("cuda-async:threshold=128MiB") == 128_MiB);
    CHECK(reserved_after_wait("cuda-async:threshold=max") == 160_MiB);
}

TEST_CASE("torch's backend cudaMallocAsync is the driver's pool, which keeps everything",
          "[cuda-async][torch]") {
    CHECK(reserved_after_wait("torch:backend=cudaMallocAsync") == 160_MiB);
    CHECK(reserved_after_wait("rmm-cuda-async") == 160_MiB);
}

TEST_CASE("memory asked for early is mapped early", "[cuda-async]") {
    SimDevice device(support::small_device(1_GiB));
    const auto policy = support::make_policy("cuda-async:initial=256MiB", device);
    must_allocate(*policy, 1_MiB, StreamId{1});
    CHECK(policy->usage().reserved == 256_MiB);
}

TEST_CASE("a request beyond the device's memory is refused, and all that is free is used first",
          "[cuda-async]") {
    SimDevice device(support::small_device(256_MiB));
    const auto policy = support::make_policy("cuda-async:threshold=max", device);
    const Allocation a = must_allocate(*policy, 96_MiB, StreamId{1});
    const Allocation b = must_allocate(*policy, 32_MiB, StreamId{1});
    CHECK_FALSE(policy->allocate({.size = 160_MiB, .stream = StreamId{1}}));
    policy->deallocate(a, StreamId{1});
    must_allocate(*policy, 224_MiB, StreamId{1});
    CHECK(policy->usage().reserved == 256_MiB);
    policy->deallocate(b, StreamId{1});
}

}  // namespace tidemark
