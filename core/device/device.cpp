// Device's texts: the names of calls and statuses, and a refusal as an Error for a person.
#include "core/device/device.h"

#include <numeric>

#include "core/base/check.h"

namespace tidemark {
namespace {

std::string_view hint_for(DeviceStatus status) {
    switch (status) {
        case DeviceStatus::out_of_memory:
            return "free memory, or choose a larger device or limit";
        case DeviceStatus::address_space:
            return "reserve smaller ranges, or free some reservations";
        case DeviceStatus::invalid_value:
            return "check addresses, sizes and their alignment to the granularity";
        case DeviceStatus::not_permitted:
            return "end the graph capture first";
        case DeviceStatus::not_supported:
            return "choose a device that has this feature, or a policy that doesn't need it";
        case DeviceStatus::lost:
            return "a kernel or the driver broke the context: restart the program, and look for "
                   "the first error (compute-sanitizer finds it)";
        case DeviceStatus::fault:
            return "see the driver's log";
    }
    return "";
}

}  // namespace

std::string_view to_text(DeviceCall call) {
    constexpr std::string_view kNames[] = {
        "malloc",
        "free",
        "malloc_async",
        "free_async",
        "set_pool_threshold",
        "trim_pool",
        "reserve",
        "unreserve",
        "create",
        "release",
        "map",
        "unmap",
        "set_access",
        "record",
        "complete",
        "wait",
        "synchronize",
        "synchronize_device",
        "copy",
        "fill",
        "host_malloc",
        "host_free",
        "host_register",
        "host_unregister",
        "set_access_for",
        "copy_batch",
        "write_pattern",
        "check_pattern",
        "begin_capture",
        "end_capture",
        "launch",
        "destroy_graph",
        "ipc_export",
        "ipc_open",
        "ipc_close",
        "address_range",
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
        case DeviceStatus::lost:
            return "device lost";
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

// Calls that a device may leave out.

namespace {

tl::unexpected<DeviceError> without(DeviceCall call) {
    return tl::make_unexpected(DeviceError{DeviceStatus::not_supported, call, 0});
}

}  // namespace

DeviceResult<void> Device::set_access_for(Location /*who*/, Range /*range*/, bool /*writable*/) {
    return without(DeviceCall::set_access_for);
}

DeviceResult<void> Device::begin_capture(StreamId /*stream*/) {
    return without(DeviceCall::begin_capture);
}

DeviceResult<GraphId> Device::end_capture(StreamId /*stream*/) {
    return without(DeviceCall::end_capture);
}

DeviceResult<void> Device::launch(GraphId /*graph*/, StreamId /*stream*/) {
    return without(DeviceCall::launch);
}

DeviceResult<void> Device::destroy_graph(GraphId /*graph*/) {
    return without(DeviceCall::destroy_graph);
}

DeviceResult<void> Device::copy_batch(std::span<const CopyRange> copies, StreamId stream) {
    for (const CopyRange& one : copies) {
        if (const auto done = copy(one.target, one.source, one.size, stream); !done)
            return done;
    }
    return {};
}

DeviceResult<void> Device::write_pattern(Address /*target*/, std::uint32_t /*pattern*/,
                                         Bytes /*size*/, StreamId /*stream*/) {
    return without(DeviceCall::write_pattern);
}

DeviceResult<Bytes> Device::check_pattern(Address /*target*/, std::uint32_t /*pattern*/,
                                          Bytes /*size*/, StreamId /*stream*/) {
    return without(DeviceCall::check_pattern);
}

DeviceResult<void> Device::host_register(Range /*range*/) {
    return without(DeviceCall::host_register);
}

DeviceResult<void> Device::host_unregister(Address /*address*/) {
    return without(DeviceCall::host_unregister);
}

DeviceResult<IpcHandle> Device::ipc_export(Address /*address*/) {
    return without(DeviceCall::ipc_export);
}

DeviceResult<Address> Device::ipc_open(const IpcHandle& /*handle*/) {
    return without(DeviceCall::ipc_open);
}

DeviceResult<void> Device::ipc_close(Address /*address*/) {
    return without(DeviceCall::ipc_close);
}

DeviceResult<Range> Device::address_range(Address /*address*/) const {
    return without(DeviceCall::address_range);
}

}  // namespace tidemark
