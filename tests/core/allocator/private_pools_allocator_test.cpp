// Private pools beside a policy: served by PyTorch's rules, counted together, never mixed.
#include "core/allocator/private_pools_allocator.h"

#include <vector>

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/support/device.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::make_policy;
using support::must_allocate;
using support::small_device;

constexpr PoolId kGraph{1};

TEST_CASE("private pools have PyTorch's segments, the default pool the policy's",
          "[allocator][pools]") {
    SimDevice device(small_device(1_GiB));
    const auto allocator = make_policy("extent:private_pools=torch", device);
    const Allocation shared = must_allocate(*allocator, 12_MiB);
    CHECK(allocator->usage().reserved == 12_MiB);
    const auto own = allocator->allocate({.size = 1_MiB, .pool = kGraph});
    REQUIRE(own);
    CHECK(allocator->usage().reserved == 14_MiB);
    const auto large = allocator->allocate({.size = 3_MiB, .pool = kGraph});
    REQUIRE(large);
    CHECK(allocator->usage().reserved == 34_MiB);

    // What one has freed isn't the other's.
    allocator->deallocate(shared, StreamId::default_stream);
    const auto more = allocator->allocate({.size = 30_MiB, .pool = kGraph});
    REQUIRE(more);
    CHECK(allocator->usage().reserved == 64_MiB);
    CHECK(must_allocate(*allocator, 12_MiB).address == shared.address);
    CHECK(allocator->usage().allocated == 46_MiB);
}

TEST_CASE("what was let go in either pool is active until it is freed", "[allocator][pools]") {
    SimDevice device(small_device(1_GiB));
    const auto allocator = make_policy("extent:private_pools=torch", device);
    std::vector<Allocation> live{must_allocate(*allocator, 4_MiB),
                                 allocator->allocate({.size = 2_MiB, .pool = kGraph}).value()};
    for (Allocation& allocation : live)
        allocator->retire(allocation);
    CHECK(allocator->usage().allocated == 0);
    CHECK(allocator->usage().active == 6_MiB);
    const auto copy = allocator->clone(device);
    REQUIRE(copy);
    CHECK(copy->usage().allocated == 0);

    const Allocation third = must_allocate(*allocator, 1_MiB);
    CHECK(allocator->usage().allocated == 1_MiB);
    for (const Allocation& allocation : live)
        allocator->deallocate(allocation, StreamId::default_stream);
    CHECK(allocator->usage().allocated == 1_MiB);
    CHECK(allocator->usage().active == 1_MiB);
    allocator->deallocate(third, StreamId::default_stream);
    CHECK(allocator->usage().active == 0);
}

TEST_CASE("without the option the policy serves all pools", "[allocator][pools]") {
    CHECK(parse_policy("extent:private_pools=policy").value().text() == "extent");
    CHECK(parse_policy("extent:private_pools=torch").value().text() ==
          "extent:private_pools=torch");
    CHECK_FALSE(parse_policy("extent:private_pools=cupy"));
}

}  // namespace
}  // namespace tidemark
