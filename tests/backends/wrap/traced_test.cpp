// The log of calls.
#include "backends/wrap/traced.h"

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"

using namespace tidemark;

TEST_CASE("the log says what was asked, what came of it, and when") {
    const CostProfile profile = load_profile("h200").value();
    SimDevice sim({.capacity = 64_MiB, .profile = &profile});
    TracedDevice device(sim);
    const StreamId stream{3};
    const Address a = device.malloc(512).value();
    (void)device.malloc(1_GiB);
    const EventId event = device.record(stream).value();
    (void)device.complete(event);
    (void)device.free(a);
    REQUIRE(device.log().size() == 5);
    CHECK(to_text(device.log()[0]) == "0 ns: malloc(size=512) -> 0x302000000");
    CHECK(to_text(device.log()[1]) == "1071 ns: malloc(size=1073741824) -> out of memory");
    CHECK(to_text(device.log()[2]) == "1071 ns: record(stream=3) -> event=0");
    CHECK(to_text(device.log()[3]) == "1255 ns: complete(event=0) -> yes");
    CHECK(to_text(device.log()[4]) == "1415 ns: free(0x302000000)");
    CHECK(device.log()[0].begin == 0);
    CHECK(device.log()[0].end == 1071);
    CHECK_FALSE(device.log()[1].outcome.ok);
    CHECK(device.log()[1].outcome.status == DeviceStatus::out_of_memory);
}

TEST_CASE("every call has a line of its own kind") {
    SimDevice sim({.capacity = 1_GiB});
    TracedDevice device(sim);
    const StreamId stream{1};
    const Address a = device.malloc(512).value();
    const Address p = device.malloc_async(512, stream).value();
    const Address h = device.host_malloc(512).value();
    const Range r = device.reserve(2_MiB).value();
    const PhysicalId handle = device.create({}, 2_MiB).value();
    const EventId event = device.record(stream).value();
    device.clear();
    (void)device.map(r, handle);
    (void)device.set_access(r, true);
    (void)device.copy(a, h, 16, stream);
    (void)device.fill(a, 7, 16, stream);
    (void)device.wait(stream, event);
    (void)device.synchronize(stream);
    (void)device.synchronize_device();
    (void)device.unmap(r);
    (void)device.release(handle);
    (void)device.unreserve(r);
    (void)device.free_async(p, stream);
    (void)device.set_pool_threshold(1);
    (void)device.trim_pool(0);
    (void)device.host_free(h);
    std::string text;
    for (const CallRecord& record : device.log())
        text += to_text(record) + "\n";
    CHECK(text ==
          "0 ns: map(0x400302000000, size=2097152, handle=1)\n"
          "0 ns: set_access(0x400302000000, size=2097152, write)\n"
          "0 ns: copy(0x302000000, from=0x200302000000, size=16, stream=1)\n"
          "0 ns: fill(0x302000000, value=7, size=16, stream=1)\n"
          "0 ns: wait(stream=1, event=0)\n"
          "0 ns: synchronize(stream=1)\n"
          "0 ns: synchronize_device()\n"
          "0 ns: unmap(0x400302000000, size=2097152)\n"
          "0 ns: release(handle=1)\n"
          "0 ns: unreserve(0x400302000000, size=2097152)\n"
          "0 ns: free_async(0x100302000000, stream=1)\n"
          "0 ns: set_pool_threshold(1)\n"
          "0 ns: trim_pool(0)\n"
          "0 ns: host_free(0x200302000000)\n");
}

TEST_CASE("a bounded log keeps the last calls and counts the others") {
    SimDevice sim({.capacity = 1_GiB});
    TracedDevice device(sim, 2);
    for (const Bytes size : {512_KiB, 1_MiB, 2_MiB})
        (void)device.malloc(size);
    REQUIRE(device.log().size() == 2);
    CHECK(device.log().front().arguments.size == 1_MiB);
    CHECK(device.dropped() == 1);
    TracedDevice none(sim, 0);
    (void)none.malloc(512);
    CHECK(none.log().empty());
    CHECK(none.dropped() == 1);
}
