// cuda-malloc: what it promises beyond what every policy promises (tests/properties).
#include <catch2/catch.hpp>

#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::must_allocate;

TEST_CASE("cuda-malloc makes one device call for each request and each free", "[cuda-malloc]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("cuda-malloc", device);

    const Allocation a = must_allocate(*policy, 1000);
    const Allocation b = must_allocate(*policy, 3_MiB);
    policy->deallocate(a, StreamId::default_stream);
    policy->deallocate(b, StreamId::default_stream);

    CHECK(support::calls(device, DeviceCall::malloc) == 2);
    CHECK(support::calls(device, DeviceCall::free) == 2);
    CHECK(device.counters().total_calls() == 4);
}

TEST_CASE("cuda-malloc reserves what is allocated and nothing more", "[cuda-malloc]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("cuda-malloc", device);

    const Allocation a = must_allocate(*policy, 1000);

    CHECK(a.size == 1024);
    CHECK(policy->usage().reserved == 1024);
    CHECK(policy->usage().mapped == 1024);
    CHECK(policy->largest_free() == 0);
    policy->deallocate(a, StreamId::default_stream);
    CHECK(policy->usage().reserved == 0);
}

TEST_CASE("cuda-malloc keeps what the device refuses to take back, and offers it again at a trim",
          "[cuda-malloc]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("cuda-malloc", device);
    const Allocation a = must_allocate(*policy, 4096);
    device.begin_capture(StreamId{1});  // cudaFree is not permitted now

    policy->deallocate(a, StreamId::default_stream);
    policy->trim(TrimLevel::all);

    CHECK(policy->usage().allocated == 0);
    CHECK(policy->usage().active == 0);
    CHECK(policy->usage().reserved == 4096);
    REQUIRE(support::regions_of(*policy).size() == 1);
    CHECK(support::regions_of(*policy)[0].state == Region::State::hole);

    device.end_capture(StreamId{1});
    policy->trim(TrimLevel::unused);
    CHECK(policy->usage().reserved == 0);
    CHECK(device.memory().free == 64_MiB);
}

TEST_CASE("cuda-malloc grants an alignment above the device's", "[cuda-malloc]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("cuda-malloc", device);
    must_allocate(*policy, 512);

    const auto aligned = policy->allocate({.size = 512, .alignment = 64_KiB});

    REQUIRE(aligned);
    CHECK(to_integer(aligned->address) % 64_KiB == 0);
    policy->deallocate(*aligned, StreamId::default_stream);
    CHECK(policy->usage().reserved == 512);
}

}  // namespace
}  // namespace tidemark
