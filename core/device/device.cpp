// Device's words: the names of calls and statuses, and a refusal as an Error for a person.
#include "core/device/device.h"

#include <numeric>

#include "core/base/check.h"

namespace tidemark {
namespace {

std::string_view hint_for(DeviceStatus status) {
    switch (status) {
        case DeviceStatus::out_of_memory:
            return "free memory, or ask for a device or limit that is larger";
        case DeviceStatus::address_space:
            return "reserve smaller ranges, or give reservations back";
        case DeviceStatus::invalid_value:
            return "check addresses, sizes and their alignment to the granularity";
        case DeviceStatus::not_permitted:
            return "end the graph capture first";
        case DeviceStatus::not_supported:
            return "choose a device that has this feature, or a policy that doesn't need it";
        case DeviceStatus::fault:
            return "see the driver's log";
    }
    return "";
}

}  // namespace

std::string_view to_text(DeviceCall call) {
    constexpr std::string_view kNames[] = {
        "malloc",      "free",        "malloc_async",       "free_async", "set_pool_threshold",
        "trim_pool",   "reserve",     "unreserve",          "create",     "release",
        "map",         "unmap",       "set_access",         "record",     "complete",
        "wait",        "synchronize", "synchronize_device", "copy",       "fill",
        "host_malloc", "host_free",
    };
    static_assert(std::size(kNames) == kDeviceCallCount);
    const auto index = static_cast<std::size_t>(call);
    TM_CHECK(index < std::size(kNames));
    return kNames[index];
}

std::string_view to_text(DeviceStatus status) {
    switch (status) {
        case DeviceStatus::out_of_memory:
            return "out of memory";
        case DeviceStatus::address_space:
            return "out of address space";
        case DeviceStatus::invalid_value:
            return "invalid value";
        case DeviceStatus::not_permitted:
            return "not permitted during capture";
        case DeviceStatus::not_supported:
            return "not supported";
        case DeviceStatus::fault:
            return "device fault";
    }
    return "unknown status";
}

Error to_error(const DeviceError& error) {
    std::string what{to_text(error.call)};
    what += ": ";
    what += to_text(error.status);
    if (error.native_code != 0)
        what += " (" + std::to_string(error.native_code) + ")";
    const bool unsupported = error.status == DeviceStatus::not_supported;
    return {.code = unsupported ? ErrorCode::unsupported : ErrorCode::driver,
            .what = std::move(what),
            .where = {},
            .hint = std::string{hint_for(error.status)}};
}

std::uint64_t DeviceCounters::total_calls() const {
    return std::accumulate(std::begin(calls), std::end(calls), std::uint64_t{0});
}

Nanoseconds DeviceCounters::total_ns() const {
    return std::accumulate(std::begin(call_ns), std::end(call_ns), Nanoseconds{0});
}

}  // namespace tidemark
