// gmlake: cases worked out by hand from GMLake's rules.
#include <catch2/catch.hpp>

#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::calls;
using support::must_allocate;
using support::must_refuse;
using support::regions_of;

// Pieces of 20 MiB, every other one free: `count` of each.
std::vector<Allocation> comb(Allocator& policy, int count) {
    std::vector<Allocation> kept;
    std::vector<Allocation> freed;
    for (int i = 0; i < count; ++i) {
        freed.push_back(must_allocate(policy, 20_MiB));
        kept.push_back(must_allocate(policy, 20_MiB));
    }
    for (const Allocation& each : freed)
        policy.deallocate(each, {});
    return kept;
}

TEST_CASE("gmlake stitches free pieces together instead of growing", "[gmlake]") {
    SimDevice device(support::small_device(256_MiB));
    const auto policy = support::make_policy("gmlake:frag_limit=32MiB", device);
    comb(*policy, 3);
    const Bytes reserved = policy->usage().reserved;
    const auto created = calls(device, DeviceCall::create);

    const Allocation wide = must_allocate(*policy, 50_MiB);

    CHECK(wide.size == 50_MiB);
    CHECK(policy->usage().reserved == reserved);
    CHECK(calls(device, DeviceCall::create) == created);
    CHECK(policy->largest_free() == 10_MiB);  // what is left of the last piece
}

TEST_CASE("gmlake uses a stitch again while all its pieces are free", "[gmlake]") {
    SimDevice device(support::small_device(256_MiB));
    const auto policy = support::make_policy("gmlake:frag_limit=32MiB", device);
    comb(*policy, 2);
    const Allocation wide = must_allocate(*policy, 40_MiB);
    policy->deallocate(wide, {});
    const auto maps = calls(device, DeviceCall::map);

    CHECK(must_allocate(*policy, 36_MiB).address == wide.address);
    CHECK(calls(device, DeviceCall::map) == maps);
}

TEST_CASE("gmlake's stitch is no more free when one of its pieces is taken alone", "[gmlake]") {
    SimDevice device(support::small_device(256_MiB));
    const auto policy = support::make_policy("gmlake:frag_limit=32MiB", device);
    comb(*policy, 2);
    const Allocation wide = must_allocate(*policy, 40_MiB);
    policy->deallocate(wide, {});

    const Allocation piece = must_allocate(*policy, 4_MiB);
    CHECK(piece.address != wide.address);
    CHECK(must_allocate(*policy, 40_MiB).address != wide.address);

    policy->deallocate(piece, {});
    CHECK(must_allocate(*policy, 40_MiB).address == wide.address);
}

TEST_CASE("gmlake stitches no more than reuse_limit allows to waste", "[gmlake]") {
    SimDevice device(support::small_device(512_MiB));
    const auto policy = support::make_policy("gmlake:frag_limit=32MiB,reuse_limit=1", device);
    comb(*policy, 2);
    const Allocation wide = must_allocate(*policy, 40_MiB);
    policy->deallocate(wide, {});

    CHECK(must_allocate(*policy, 22_MiB).address != wide.address);
}

TEST_CASE("gmlake stitches only large requests, and only its own stream's pieces", "[gmlake]") {
    SimDevice device(support::small_device(256_MiB));
    const auto policy = support::make_policy("gmlake:frag_limit=40MiB", device);
    comb(*policy, 2);
    const Bytes reserved = policy->usage().reserved;

    must_allocate(*policy, 38_MiB);
    CHECK(policy->usage().reserved == reserved + 38_MiB);
    must_allocate(*policy, 40_MiB, StreamId{1});
    CHECK(policy->usage().reserved == reserved + 78_MiB);
    must_allocate(*policy, 40_MiB);
    CHECK(policy->usage().reserved == reserved + 78_MiB);
}

TEST_CASE("gmlake stitches when the device is full, where it is told to", "[gmlake]") {
    SimDevice device(support::small_device(100_MiB));
    const auto eager = support::make_policy("gmlake:frag_limit=32MiB,defrag_level=1", device);
    const std::vector<Allocation> kept = comb(*eager, 2);

    must_allocate(*eager, 38_MiB);  // 20 MiB are left on the device

    CHECK(eager->usage().reserved == 80_MiB);
    CHECK(eager->stats().retries == 0);
}

TEST_CASE("gmlake gives uncut pieces back before it refuses", "[gmlake]") {
    SimDevice device(support::small_device(100_MiB));
    const auto policy = support::make_policy("gmlake", device);
    comb(*policy, 2);

    must_allocate(*policy, 38_MiB);

    CHECK(policy->usage().reserved == 78_MiB);
    CHECK(policy->stats().retries == 1);
    must_refuse(*policy, 38_MiB);
}

TEST_CASE("gmlake ends the oldest stitches when they take too many addresses", "[gmlake]") {
    SimDevice device(support::small_device(512_MiB));
    const auto policy = support::make_policy("gmlake:frag_limit=32MiB,auto_gc=60MiB", device);
    comb(*policy, 4);
    const Allocation first = must_allocate(*policy, 40_MiB);
    policy->deallocate(first, {});
    REQUIRE(device.synchronize_device());
    const auto unmaps = calls(device, DeviceCall::unmap);

    must_allocate(*policy, 60_MiB);

    CHECK(calls(device, DeviceCall::unmap) == unmaps + 1);
}

TEST_CASE("gmlake cuts pieces to pages, and small requests to 512 bytes of a segment of 2 MiB",
          "[gmlake]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("gmlake", device);

    CHECK(must_allocate(*policy, 1000).size == 1024);
    CHECK(policy->usage().reserved == 2_MiB);
    CHECK(must_allocate(*policy, 1_MiB + 1).size == 2_MiB);
    CHECK(policy->usage().reserved == 22_MiB);
    CHECK(must_allocate(*policy, 12_MiB).size == 12_MiB);
    CHECK(policy->usage().reserved == 22_MiB);
    CHECK(must_allocate(*policy, 11_MiB).size == 12_MiB);
    CHECK(policy->usage().reserved == 34_MiB);
}

}  // namespace
}  // namespace tidemark
