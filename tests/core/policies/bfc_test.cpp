// bfc: cases worked out by hand from the rules of TSL's bfc_allocator.
#include <catch2/catch.hpp>

#include "tests/support/placements.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::must_allocate;
using support::must_refuse;
using support::placements;

TEST_CASE("bfc doubles its regions, and grants whole chunks where half would be wasted at most",
          "[bfc]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("bfc:limit=64MiB", device);

    CHECK(placements(*policy) ==
          "A=s0+0K B=s1+0K C=s0+1024K D=s2+0K E=s1+0K F=s1+1048832 G=s3+0K H=s2+0K I=s0+0K "
          "J=s3+0K K=s1+0K");
    CHECK(policy->usage().reserved == 31457280);
    CHECK(policy->stats().segments_created == 4);
}

TEST_CASE("bfc without growth has one region of all that it may hold", "[bfc]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("bfc:limit=16MiB,growth=false,gc=false", device);

    CHECK(placements(*policy) ==
          "A=s0+0K B=s0+1024K C=s0+4096K D=s0+4796K E=s0+1024K F=s0+2097408 G=s0+9916K "
          "H=s0+2097408 I=s0+0K J=refused K=s0+512");
    CHECK(policy->usage().reserved == 16777216);
    CHECK(policy->stats().segments_created == 1);
}

TEST_CASE("bfc gives unused regions back only where that makes enough room", "[bfc]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("bfc:limit=24MiB", device);

    CHECK(placements(*policy) ==
          "A=s0+0K B=s1+0K C=s0+1024K D=s2+0K E=s1+0K F=s1+1048832 G=s3+0K H=s3+4096K I=s0+0K "
          "J=refused K=s1+0K");
    CHECK(policy->usage().reserved == 25165824);
    CHECK(policy->stats().segments_created == 4);
    CHECK(policy->stats().segments_released == 0);

    must_allocate(*policy, 20_MiB);  // nothing lives any more
    CHECK(policy->stats().segments_released == 4);
    CHECK(policy->usage().reserved == 24_MiB);
}

TEST_CASE("bfc takes a tenth less where the device refuses", "[bfc]") {
    SimDevice device(support::small_device(31_MiB));
    const auto policy = support::make_policy("bfc:limit=64MiB", device);

    must_allocate(*policy, 20_MiB);  // 32 MiB are refused, 28.8 are not

    CHECK(policy->usage().reserved == 30198784 / 512 * 512);
    CHECK(must_refuse(*policy, 20_MiB).cause == OutOfMemory::Cause::device_full);
}

TEST_CASE("bfc cuts a chunk as soon as max_internal_frag would be left over", "[bfc]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("bfc:max_internal_frag=1MiB", device);

    CHECK(must_allocate(*policy, 3_MiB).size == 3_MiB);
    CHECK(must_allocate(*policy, 512_KiB + 256).size == 1_MiB);
}

}  // namespace
}  // namespace tidemark
