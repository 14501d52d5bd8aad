// Sources of pinned memory: of the device, and of the process.
#include "core/tiers/host/pinned_source.h"

#include <cstring>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/faulty.h"
#include "tests/core/tiers/failing_source.h"

namespace tidemark {

TEST_CASE("plain memory is aligned, writable and ours", "[tiers][pinned_source]") {
    PlainSource source;
    for (const Bytes size : {Bytes{1}, Bytes{64}, Bytes{1000}, 3_MiB}) {
        const Result<Range> range = source.allocate(size);
        REQUIRE(range);
        CHECK(range->size == size);
        CHECK(to_integer(range->begin) % PinnedSource::kAlignment == 0);
        std::memset(pointer_of(range->begin), 0x5a, size);
        CHECK(pointer_of(range->begin)[size - 1] == std::byte{0x5a});
        CHECK(address_of(pointer_of(range->begin)) == range->begin);
        source.free(*range);
    }
}

TEST_CASE("sources refuse what is no size", "[tiers][pinned_source]") {
    PlainSource plain;
    SimDevice device({.capacity = 1_GiB});
    DevicePinnedSource pinned(device);
    for (const Bytes size : {Bytes{0}, kLargestRequest, ~Bytes{0}}) {
        for (PinnedSource* source :
             {static_cast<PinnedSource*>(&plain), static_cast<PinnedSource*>(&pinned)}) {
            const Result<Range> range = source->allocate(size);
            REQUIRE_FALSE(range);
            CHECK(range.error().code == ErrorCode::bad_option);
        }
    }
    CHECK(device.counters().total_calls() == 0);
}

TEST_CASE("a device's pinned memory comes from its driver, as do its refusals",
          "[tiers][pinned_source]") {
    SimDevice device({.capacity = 1_GiB, .host_capacity = 2_MiB});
    DevicePinnedSource source(device);
    const Result<Range> first = source.allocate(1_MiB);
    const Result<Range> second = source.allocate(1_MiB);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->begin != second->begin);
    const Result<Range> third = source.allocate(1_MiB);
    REQUIRE_FALSE(third);
    CHECK(third.error().code == ErrorCode::driver);
    source.free(*first);
    const Result<Range> again = source.allocate(1_MiB);
    REQUIRE(again);
    source.free(*again);
    source.free(*second);
    const auto& calls = device.counters().calls;
    CHECK(calls[static_cast<int>(DeviceCall::host_malloc)] >=
          calls[static_cast<int>(DeviceCall::host_free)]);
    CHECK(calls[static_cast<int>(DeviceCall::host_free)] == 3);
}

TEST_CASE("the failing source of these tests does what they think", "[tiers][pinned_source]") {
    FailingSource source;
    source.fail_from(2);
    const Result<Range> range = source.allocate(100);
    REQUIRE(range);
    CHECK_FALSE(source.allocate(100));
    CHECK(source.pieces() == 1);
    CHECK(source.bytes() == 100);
    source.free(*range);
    CHECK(source.pieces() == 0);
    CHECK_FALSE(source.misused());
    source.free(*range);
    CHECK(source.misused());
}

}  // namespace tidemark
