// ScriptedDevice: addresses by the script, a log of what was asked, and refusals where told.
#include "backends/wrap/scripted.h"

#include <vector>

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

using Call = ScriptedDevice::Call;

constexpr Address kFirst{0x10000000};
constexpr Address kSecond{0x40000000};
constexpr Address kBeyondAnyGpu{std::uint64_t{1} << 49U};

std::vector<Call> log_of(const ScriptedDevice& device) {
    return {device.log().begin(), device.log().end()};
}

Bytes used(const ScriptedDevice& device) {
    return device.memory().total - device.memory().free;
}

// Maps `count` pages from `begin` on, as a reservation does.
bool map_pages(ScriptedDevice& device, Address begin, std::uint64_t count) {
    std::vector<PhysicalId> handles;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto handle = device.create({}, 2_MiB);
        if (!handle) {
            for (const PhysicalId made : handles)
                CHECK(device.release(made));
            return false;
        }
        handles.push_back(*handle);
    }
    for (std::uint64_t i = 0; i < count; ++i)
        CHECK(device.map({begin + i * 2_MiB, 2_MiB}, handles[i]));
    CHECK(device.set_access({begin, count * 2_MiB}, true));
    return true;
}

}  // namespace

TEST_CASE("mallocs get the script's addresses in order, whatever their sizes", "[scripted]") {
    ScriptedDevice device(1_GiB);
    const Call script[] = {{DeviceCall::malloc, {kFirst, 2_MiB}},
                           {DeviceCall::free, {kFirst, 2_MiB}},
                           {DeviceCall::malloc, {kSecond, 20_MiB}}};
    device.play(script);

    CHECK(*device.malloc(4_MiB) == kFirst);
    CHECK(*device.malloc(2_MiB) == kSecond);

    CHECK(log_of(device) == std::vector<Call>{{DeviceCall::malloc, {kFirst, 4_MiB}},
                                              {DeviceCall::malloc, {kSecond, 2_MiB}}});
    CHECK(used(device) == 6_MiB);
}

TEST_CASE("beyond the script addresses are invented, none twice", "[scripted]") {
    ScriptedDevice device(1_GiB);
    const Address first = *device.malloc(3_MiB);
    const Address second = *device.malloc(2_MiB);
    const Range reserved = *device.reserve(20_MiB);
    const Address third = *device.malloc(2_MiB);

    CHECK(first > kBeyondAnyGpu);
    CHECK(second >= first + 3_MiB);
    CHECK(reserved.begin >= second + 2_MiB);
    CHECK(third >= reserved.begin + 20_MiB);
}

TEST_CASE("a scripted device takes back what it gave, once", "[scripted]") {
    ScriptedDevice device(1_GiB);
    const Address block = *device.malloc(2_MiB);

    CHECK(device.free(block));
    CHECK_FALSE(device.free(block));
    CHECK_FALSE(device.free(kFirst));

    CHECK(used(device) == 0);
    CHECK(device.log().size() == 2);
}

TEST_CASE("memory from before the script is held and can be given back", "[scripted]") {
    ScriptedDevice device(64_MiB);
    device.hold({kFirst, 20_MiB});
    device.hold_pages(40_MiB);
    CHECK(device.memory().free == 4_MiB);
    CHECK_FALSE(device.malloc(6_MiB));

    REQUIRE(device.free(kFirst));
    REQUIRE(device.unmap({kSecond, 2_MiB}));

    CHECK(device.memory().free == 26_MiB);
    CHECK(log_of(device) == std::vector<Call>{{DeviceCall::free, {kFirst, 20_MiB}},
                                              {DeviceCall::unmap, {kSecond, 2_MiB}}});
}

TEST_CASE("a device that holds more than it has gives nothing more", "[scripted]") {
    ScriptedDevice device(10_MiB);
    device.hold({kFirst, 20_MiB});

    CHECK_FALSE(device.malloc(2_MiB));
    CHECK_FALSE(device.create({}, 2_MiB));
}

TEST_CASE("a reservation begins where the script maps its next pages", "[scripted]") {
    ScriptedDevice device(1_GiB);
    const Call script[] = {{DeviceCall::set_access, {kFirst, 4_MiB}},
                           {DeviceCall::malloc, {kSecond, 2_MiB}}};
    device.play(script);

    const Range range = *device.reserve(1_GiB);
    CHECK(range == Range{kFirst, 1_GiB});
    REQUIRE(map_pages(device, range.begin, 2));
    CHECK(*device.malloc(2_MiB) == kSecond);  // the pages took their place in the script

    CHECK(log_of(device) == std::vector<Call>{{DeviceCall::set_access, {kFirst, 4_MiB}},
                                              {DeviceCall::malloc, {kSecond, 2_MiB}}});
    CHECK(used(device) == 6_MiB);
}

TEST_CASE("pages count from their making to their unmapping", "[scripted]") {
    ScriptedDevice device(8_MiB);
    REQUIRE(map_pages(device, kFirst, 3));
    CHECK(device.memory().free == 2_MiB);

    CHECK_FALSE(map_pages(device, kSecond, 2));  // the one handle made is released again
    CHECK(device.memory().free == 2_MiB);

    REQUIRE(device.unmap({kFirst, 4_MiB}));
    CHECK(device.memory().free == 6_MiB);
    CHECK(map_pages(device, kSecond, 3));
    CHECK(device.unreserve({kFirst, 1_GiB}));
}

TEST_CASE("a full device refuses and logs nothing", "[scripted]") {
    ScriptedDevice device(4_MiB);

    const auto refused = device.malloc(6_MiB);

    REQUIRE_FALSE(refused);
    CHECK(refused.error().status == DeviceStatus::out_of_memory);
    CHECK(device.log().empty());
    CHECK(device.malloc(4_MiB));
}

TEST_CASE("a refusing device gives memory only where the script takes some now", "[scripted]") {
    ScriptedDevice device(1_GiB);
    device.hold({kSecond, 2_MiB});
    const Call script[] = {{DeviceCall::free, {kSecond, 2_MiB}},
                           {DeviceCall::malloc, {kFirst, 2_MiB}}};
    device.play(script, true);

    CHECK_FALSE(device.malloc(2_MiB));  // a free is due first
    CHECK_FALSE(device.create({}, 2_MiB));
    REQUIRE(device.free(kSecond));
    CHECK(*device.malloc(2_MiB) == kFirst);
    CHECK_FALSE(device.malloc(2_MiB));  // the script is over

    device.play({});
    CHECK(device.malloc(2_MiB));
}

TEST_CASE("a refusing device gives all pages of a run", "[scripted]") {
    ScriptedDevice device(1_GiB);
    const Call script[] = {{DeviceCall::set_access, {kFirst, 6_MiB}}};
    device.play(script, true);

    CHECK(map_pages(device, device.reserve(1_GiB)->begin, 3));
    CHECK_FALSE(map_pages(device, kSecond, 1));
}

TEST_CASE("a new script forgets the old one and the log", "[scripted]") {
    ScriptedDevice device(1_GiB);
    const Call first[] = {{DeviceCall::malloc, {kFirst, 2_MiB}},
                          {DeviceCall::malloc, {kFirst + 2_MiB, 2_MiB}}};
    device.play(first);
    CHECK(device.has_script());
    REQUIRE(device.malloc(2_MiB));
    const Call second[] = {{DeviceCall::malloc, {kSecond, 2_MiB}}};

    device.play(second);

    CHECK(device.log().empty());
    CHECK(*device.malloc(2_MiB) == kSecond);
    CHECK(used(device) == 4_MiB);
    device.play({});
    CHECK_FALSE(device.has_script());
}

TEST_CASE("events are complete unless their stream is awaited", "[scripted]") {
    ScriptedDevice device(1_GiB);
    device.await(StreamId{3});
    device.await(StreamId{0});
    const EventId on_three = *device.record(StreamId{3});
    const EventId on_four = *device.record(StreamId{4});
    const EventId on_none = *device.record(StreamId{0});

    CHECK_FALSE(*device.complete(on_three));
    CHECK(*device.complete(on_four));
    CHECK_FALSE(*device.complete(on_none));
    CHECK(device.awaited_count() == 2);

    device.finish(StreamId{3});
    CHECK(*device.complete(on_three));
    CHECK_FALSE(*device.complete(on_none));
}

TEST_CASE("waiting for a stream, or for the device, completes its events", "[scripted]") {
    ScriptedDevice device(1_GiB);
    for (const std::uint32_t stream : {1U, 2U, 3U})
        device.await(StreamId{stream});

    REQUIRE(device.synchronize(StreamId{2}));
    CHECK(device.is_awaited(StreamId{1}));
    CHECK_FALSE(device.is_awaited(StreamId{2}));

    REQUIRE(device.synchronize_device());
    CHECK(device.awaited_count() == 0);
}

TEST_CASE("a pool that was added decides by itself, within the device's memory", "[scripted]") {
    ScriptedDevice device(64_MiB);
    CHECK_FALSE(device.has(Feature::async_pool));
    CHECK(device.malloc_async(512, StreamId{1}).error().status == DeviceStatus::not_supported);

    device.add_pool(kFirst);
    CHECK(device.malloc_async(1_MiB, StreamId{1}).value() == kFirst);
    CHECK(device.pool_held() == 32_MiB);
    CHECK(used(device) == 32_MiB);
    CHECK(device.malloc_async(64_MiB, StreamId{1}).error().status == DeviceStatus::out_of_memory);
    ScriptedDevice copy(device);
    REQUIRE(copy.free_async(kFirst, StreamId{1}));
    CHECK_FALSE(copy.free_async(kFirst, StreamId{1}));
    copy.synchronize_pool(StreamId{2});
    CHECK(copy.pool_held() == 32_MiB);
    copy.synchronize_pool();
    CHECK(copy.pool_held() == 0);
    CHECK(used(copy) == 0);
    CHECK(device.pool_held() == 32_MiB);
    REQUIRE(device.set_pool_threshold(1_GiB));
    REQUIRE(device.free_async(kFirst, StreamId{1}));
    REQUIRE(device.synchronize_device());
    CHECK(device.pool_held() == 32_MiB);
    REQUIRE(device.trim_pool(0));
    CHECK(used(device) == 0);
}

TEST_CASE("a copy of a scripted device is in the same state and goes its own way", "[scripted]") {
    ScriptedDevice device(1_GiB);
    const Call script[] = {{DeviceCall::malloc, {kFirst, 2_MiB}},
                           {DeviceCall::malloc, {kSecond, 2_MiB}}};
    device.play(script);
    REQUIRE(device.malloc(2_MiB));
    device.await(StreamId{1});

    ScriptedDevice copy(device);
    device.finish(StreamId{1});

    CHECK(log_of(copy) == log_of(device));
    CHECK(*copy.malloc(2_MiB) == kSecond);
    CHECK(*device.malloc(2_MiB) == kSecond);
    CHECK(copy.free(kFirst));
    CHECK(device.free(kFirst));
    CHECK(copy.is_awaited(StreamId{1}));
}

TEST_CASE("a scripted device has plain memory, pages and order, nothing else", "[scripted]") {
    ScriptedDevice device(1_GiB);

    CHECK(device.has(Feature::virtual_memory));
    for (const Feature feature : {Feature::async_pool, Feature::host_memory, Feature::copies})
        CHECK_FALSE(device.has(feature));
    CHECK(device.malloc_async(1, StreamId{}).error().status == DeviceStatus::not_supported);
    CHECK(device.free_async(kFirst, StreamId{}).error().status == DeviceStatus::not_supported);
    CHECK(device.copy(kFirst, kSecond, 1, StreamId{}).error().status ==
          DeviceStatus::not_supported);
    CHECK(device.host_malloc(1).error().status == DeviceStatus::not_supported);
}
