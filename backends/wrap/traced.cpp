// The log of calls, and a call as a line of text.
#include "backends/wrap/traced.h"

#include <fmt/format.h>

namespace tidemark {
namespace {

// Calls that move or check content; the others have no arguments that a line can show.
std::string movement_text(const CallArguments& a) {
    switch (a.call) {
        case DeviceCall::write_pattern:
        case DeviceCall::check_pattern:
            return fmt::format("{:#x}, pattern={:#x}, size={}, stream={}", to_integer(a.address),
                               a.handle, a.size, to_integer(a.stream));
        case DeviceCall::copy:
            return fmt::format("{:#x}, from={:#x}, size={}, stream={}", to_integer(a.address),
                               to_integer(a.source), a.size, to_integer(a.stream));
        case DeviceCall::fill:
            return fmt::format("{:#x}, value={}, size={}, stream={}", to_integer(a.address),
                               a.value, a.size, to_integer(a.stream));
        default:
            return {};
    }
}

std::string arguments_text(const CallArguments& a) {
    switch (a.call) {
        case DeviceCall::malloc:
        case DeviceCall::reserve:
        case DeviceCall::create:
        case DeviceCall::host_malloc:
            return fmt::format("size={}", a.size);
        case DeviceCall::malloc_async:
            return fmt::format("size={}, stream={}", a.size, to_integer(a.stream));
        case DeviceCall::free:
        case DeviceCall::host_free:
        case DeviceCall::host_unregister:
        case DeviceCall::ipc_export:
        case DeviceCall::ipc_close:
        case DeviceCall::address_range:
            return fmt::format("{:#x}", to_integer(a.address));
        case DeviceCall::free_async:
            return fmt::format("{:#x}, stream={}", to_integer(a.address), to_integer(a.stream));
        case DeviceCall::set_pool_threshold:
        case DeviceCall::trim_pool:
            return fmt::format("{}", a.size);
        case DeviceCall::unreserve:
        case DeviceCall::unmap:
        case DeviceCall::host_register:
            return fmt::format("{:#x}, size={}", to_integer(a.address), a.size);
        case DeviceCall::release:
            return fmt::format("handle={}", a.handle);
        case DeviceCall::map:
            return fmt::format("{:#x}, size={}, handle={}", to_integer(a.address), a.size,
                               a.handle);
        case DeviceCall::set_access:
            return fmt::format("{:#x}, size={}, {}", to_integer(a.address), a.size,
                               a.value != 0 ? "write" : "read");
        case DeviceCall::set_access_for:
            return fmt::format("{:#x}, size={}, device={}, {}", to_integer(a.address), a.size,
                               a.handle, a.value != 0 ? "write" : "read");
        case DeviceCall::record:
        case DeviceCall::synchronize:
        case DeviceCall::begin_capture:
        case DeviceCall::end_capture:
            return fmt::format("stream={}", to_integer(a.stream));
        case DeviceCall::complete:
            return fmt::format("event={}", a.handle);
        case DeviceCall::wait:
            return fmt::format("stream={}, event={}", to_integer(a.stream), a.handle);
        case DeviceCall::launch:
            return fmt::format("graph={}, stream={}", a.handle, to_integer(a.stream));
        case DeviceCall::destroy_graph:
            return fmt::format("graph={}", a.handle);
        default:
            return movement_text(a);
    }
}

std::string outcome_text(DeviceCall call, const CallOutcome& outcome) {
    if (!outcome.ok)
        return fmt::format(" -> {}", to_text(outcome.status));
    if (outcome.address != Address::null)
        return fmt::format(" -> {:#x}", to_integer(outcome.address));
    if (call == DeviceCall::create)
        return fmt::format(" -> handle={}", outcome.handle);
    if (call == DeviceCall::record)
        return fmt::format(" -> event={}", outcome.handle);
    if (call == DeviceCall::end_capture)
        return fmt::format(" -> graph={}", outcome.handle);
    if (call == DeviceCall::check_pattern)
        return fmt::format(" -> {} bytes differ", outcome.handle);
    if (call == DeviceCall::complete)
        return outcome.handle != 0 ? " -> yes" : " -> no";
    return {};
}

}  // namespace

std::string to_text(const CallRecord& record) {
    const CallArguments& arguments = record.arguments;
    return fmt::format("{} ns: {}({}){}", record.begin, to_text(arguments.call),
                       arguments_text(arguments), outcome_text(arguments.call, record.outcome));
}

void TracedDevice::keep(const CallRecord& record) {
    if (bound_ == 0 || log_.size() == bound_) {
        ++dropped_;
        if (bound_ == 0)
            return;
        log_.pop_front();
    }
    log_.push_back(record);
}

}  // namespace tidemark
