// Failing the n-th call.
#include "backends/wrap/faulty.h"

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"

using namespace tidemark;

TEST_CASE("only the n-th call fails, with the status of the plan, and does not reach the device") {
    SimDevice sim({.capacity = 1_GiB});
    FaultyDevice device(sim, {.nth = 2, .status = DeviceStatus::fault});
    CHECK(device.malloc(512));
    const DeviceResult<Address> failed = device.malloc(512);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().status == DeviceStatus::fault);
    CHECK(failed.error().call == DeviceCall::malloc);
    CHECK(device.malloc(512));
    CHECK(device.memory().free == 1_GiB - 1024);
    CHECK(sim.counters().calls[static_cast<std::size_t>(DeviceCall::malloc)] == 2);
    CHECK(device.calls() == 3);
    CHECK(device.failures() == 1);
}

TEST_CASE("a plan for one kind of call counts only that kind") {
    SimDevice sim({.capacity = 1_GiB});
    FaultyDevice device(sim, {.nth = 1, .call = DeviceCall::create});
    CHECK(device.malloc(512));
    CHECK(device.reserve(2_MiB));
    const DeviceResult<PhysicalId> failed = device.create({}, 2_MiB);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().status == DeviceStatus::out_of_memory);
    CHECK(device.create({}, 2_MiB));
    CHECK(device.calls() == 2);
}

TEST_CASE("a plan may fail everything from a call on") {
    SimDevice sim({.capacity = 1_GiB});
    FaultyDevice device(sim, {.nth = 2, .and_all_after = true});
    CHECK(device.malloc(512));
    CHECK_FALSE(device.malloc(512));
    CHECK_FALSE(device.synchronize_device());
    CHECK_FALSE(device.record(StreamId{1}));
    CHECK(device.failures() == 3);
}

TEST_CASE("a new plan begins to count again, and no plan fails nothing") {
    SimDevice sim({.capacity = 1_GiB});
    FaultyDevice device(sim, {.nth = 1});
    CHECK_FALSE(device.malloc(512));
    device.set_plan({});
    CHECK(device.calls() == 0);
    CHECK(device.malloc(512));
    CHECK(device.failures() == 0);
}

TEST_CASE("a suite can make each call of a job fail in turn, until none is left") {
    std::uint64_t nth = 1;
    for (;; ++nth) {
        SimDevice sim({.capacity = 1_GiB});
        FaultyDevice device(sim, {.nth = nth});
        if (const auto range = device.reserve(2_MiB)) {
            if (const auto handle = device.create({}, 2_MiB))
                (void)device.map(*range, *handle);
        }
        if (device.failures() == 0)
            break;
    }
    CHECK(nth == 4);
}

TEST_CASE("every call can be made to fail, and reaches the device otherwise") {
    constexpr std::uint64_t kCallCount = 27;  // made below
    constexpr Location kPeer{Location::Kind::device, 1};
    SimDevice sim({.capacity = 1_GiB, .peers = 1});
    const StreamId stream{1};
    for (const bool fails : {true, false}) {
        FaultyDevice device(sim, {.nth = fails ? 1U : 0U, .and_all_after = true});
        const auto address = device.malloc(512);
        const auto pool = device.malloc_async(512, stream);
        const auto host = device.host_malloc(512);
        const auto range = device.reserve(2_MiB);
        const auto handle = device.create({}, 2_MiB);
        const auto event = device.record(stream);
        const Address at = address.value_or(Address::null);
        const Range where = range.value_or(Range{});
        const PhysicalId what = handle.value_or(PhysicalId{});
        const EventId point = event.value_or(EventId{});
        CHECK(address.has_value() != fails);
        CHECK(pool.has_value() != fails);
        CHECK(host.has_value() != fails);
        CHECK(range.has_value() != fails);
        CHECK(handle.has_value() != fails);
        CHECK(event.has_value() != fails);
        CHECK(device.map(where, what).has_value() != fails);
        CHECK(device.set_access(where, true).has_value() != fails);
        CHECK(device.fill(at, 1, 512, stream).has_value() != fails);
        CHECK(device.copy(where.begin, at, 512, stream).has_value() != fails);
        CHECK(device.set_access_for(kPeer, where, false).has_value() != fails);
        CHECK(device.write_pattern(at, 1, 512, stream).has_value() != fails);
        CHECK(device.check_pattern(at, 1, 512, stream).has_value() != fails);
        CHECK(device.begin_capture(stream).has_value() != fails);
        CHECK(device.end_capture(stream).has_value() != fails);
        CHECK(device.wait(stream, point).has_value() != fails);
        CHECK(device.complete(point).has_value() != fails);
        CHECK(device.synchronize(stream).has_value() != fails);
        CHECK(device.synchronize_device().has_value() != fails);
        CHECK(device.unmap(where).has_value() != fails);
        CHECK(device.release(what).has_value() != fails);
        CHECK(device.unreserve(where).has_value() != fails);
        CHECK(device.set_pool_threshold(0).has_value() != fails);
        CHECK(device.free_async(pool.value_or(Address::null), stream).has_value() != fails);
        CHECK(device.trim_pool(0).has_value() != fails);
        CHECK(device.host_free(host.value_or(Address::null)).has_value() != fails);
        CHECK(device.free(at).has_value() != fails);
        CHECK(device.failures() == (fails ? kCallCount : 0));
        CHECK(sim.counters().total_calls() == (fails ? 0 : kCallCount));
    }
    CHECK(sim.memory().free == 1_GiB);
}
