// DeferringAllocator: frees that wait, and when they are made.
#include "core/allocator/deferring_allocator.h"

#include <vector>

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/support/policy.h"

using namespace tidemark;
using support::make_policy;
using support::must_allocate;
using support::regions_of;
using support::small_device;

TEST_CASE("the eleventh free makes all of them, as Numba's does", "[allocator][deferred]") {
    SimDevice device(small_device(256_MiB));
    const auto allocator = make_policy("cuda-malloc:defer_frees=10", device);
    std::vector<Allocation> live;
    for (int i = 0; i < 11; ++i)
        live.push_back(must_allocate(*allocator, 2_MiB));
    for (std::size_t i = 0; i < 10; ++i)
        allocator->deallocate(live[i], StreamId::default_stream);
    CHECK(allocator->usage().reserved == 22_MiB);
    CHECK(allocator->usage().allocated == 2_MiB);
    CHECK(allocator->usage().active == 22_MiB);
    CHECK(allocator->stats().deferred == 20_MiB);
    std::size_t waiting = 0;
    for (const Region& region : regions_of(*allocator))
        waiting += region.state == Region::State::waiting ? 1U : 0U;
    CHECK(waiting == 10);

    allocator->deallocate(live[10], StreamId::default_stream);
    CHECK(allocator->usage().reserved == 0);
    CHECK(allocator->usage().active == 0);
    CHECK(allocator->stats().deferred == 0);
    CHECK(allocator->stats().flushes == 1);
    CHECK(allocator->stats().deferred_peak == 22_MiB);
}

TEST_CASE("what waits is at most a share of the memory", "[allocator][deferred]") {
    SimDevice device(small_device(100_MiB));
    const auto allocator = make_policy("cuda-malloc:defer_frees=1000,defer_share=0.1", device);
    for (int i = 0; i < 10; ++i) {
        allocator->deallocate(must_allocate(*allocator, 4_MiB), StreamId::default_stream);
        CHECK(allocator->stats().deferred <= 10_MiB);
    }
    CHECK(allocator->stats().flushes == 3);
}

TEST_CASE("a request that would be refused makes the frees that wait", "[allocator][deferred]") {
    SimDevice device(small_device(16_MiB));
    const auto allocator = make_policy("cuda-malloc:defer_frees=100,defer_share=0", device);
    allocator->deallocate(must_allocate(*allocator, 10_MiB), StreamId::default_stream);
    CHECK(allocator->stats().deferred == 10_MiB);
    const Allocation second = must_allocate(*allocator, 12_MiB);
    CHECK(allocator->stats().deferred == 0);
    allocator->deallocate(second, StreamId::default_stream);
    allocator->trim(TrimLevel::unused);
    CHECK(allocator->usage().reserved == 0);
}

TEST_CASE("a free in two steps waits once", "[allocator][deferred]") {
    SimDevice device(small_device(64_MiB));
    const auto allocator = make_policy("torch:defer_frees=1", device);
    Allocation first = must_allocate(*allocator, 4_MiB);
    allocator->retire(first);
    CHECK(allocator->usage().allocated == 0);
    allocator->deallocate(first, StreamId::default_stream);
    CHECK(allocator->usage().allocated == 0);
    CHECK(allocator->usage().active == 4_MiB);
    allocator->deallocate(must_allocate(*allocator, 4_MiB), StreamId::default_stream);
    CHECK(allocator->usage().active == 0);
}

TEST_CASE("a policy's text says how frees wait", "[allocator][deferred]") {
    CHECK(parse_policy("extent:defer_frees=10")->text() == "extent:defer_frees=10");
    CHECK(parse_policy("extent:defer_frees=10,defer_share=0.5,threads=2")->text() ==
          "extent:defer_frees=10,defer_share=0.5,threads=2");
    CHECK_FALSE(parse_policy("extent:defer_share=1.5"));
    CHECK_FALSE(parse_policy("extent:defer_frees=-1"));
}
