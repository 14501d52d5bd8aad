// The names of calls and statuses, refusals as errors, and sums of counters.
#include "core/device/device.h"

#include <set>

#include <catch2/catch.hpp>

using namespace tidemark;

TEST_CASE("every call has a name of its own") {
    std::set<std::string_view> names;
    for (int i = 0; i < kDeviceCallCount; ++i)
        names.insert(to_text(static_cast<DeviceCall>(i)));
    CHECK(names.size() == static_cast<std::size_t>(kDeviceCallCount));
    CHECK(to_text(DeviceCall::malloc) == "malloc");
    CHECK(to_text(DeviceCall::trim_pool) == "trim_pool");
    CHECK(to_text(DeviceCall::synchronize_device) == "synchronize_device");
    CHECK(to_text(DeviceCall::host_free) == "host_free");
}

TEST_CASE("a refusal becomes an error with the call, the reason, the native code and a hint") {
    const Error error = to_error({DeviceStatus::out_of_memory, DeviceCall::create, 2});
    CHECK(error.code == ErrorCode::driver);
    CHECK(error.what == "create: out of memory (2)");
    CHECK_FALSE(error.hint.empty());
    CHECK(to_error({DeviceStatus::invalid_value, DeviceCall::map, 0}).what == "map: invalid value");
}

TEST_CASE("a missing feature becomes an error of its own kind") {
    CHECK(to_error({DeviceStatus::not_supported, DeviceCall::reserve, 0}).code ==
          ErrorCode::unsupported);
}

TEST_CASE("every status has a text and a hint") {
    for (const DeviceStatus status :
         {DeviceStatus::out_of_memory, DeviceStatus::address_space, DeviceStatus::invalid_value,
          DeviceStatus::not_permitted, DeviceStatus::not_supported, DeviceStatus::fault}) {
        CHECK_FALSE(to_text(status).empty());
        CHECK_FALSE(to_error({status, DeviceCall::free, 0}).hint.empty());
    }
}

TEST_CASE("counters add up over all calls, stalls apart") {
    DeviceCounters counters;
    counters.calls[0] = 2;
    counters.calls[kDeviceCallCount - 1] = 3;
    counters.call_ns[0] = 10;
    counters.call_ns[kDeviceCallCount - 1] = 5;
    counters.stall_ns = 100;
    CHECK(counters.total_calls() == 5);
    CHECK(counters.total_ns() == 15);
}
