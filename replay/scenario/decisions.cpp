// Names for what devices give, and the lines.
#include "replay/scenario/decisions.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace tidemark {
namespace {

constexpr std::size_t kFlushed = std::size_t{1} << 16;

// Movement of bytes, which the program decides, and calls about other processes.
bool is_decision(DeviceCall call) {
    switch (call) {
        case DeviceCall::copy:
        case DeviceCall::copy_batch:
        case DeviceCall::fill:
        case DeviceCall::write_pattern:
        case DeviceCall::check_pattern:
        case DeviceCall::ipc_export:
        case DeviceCall::ipc_open:
        case DeviceCall::ipc_close:
        case DeviceCall::address_range:
            return false;
        default:
            return true;
    }
}

}  // namespace

void DecisionLog::add(std::uint16_t device, std::string_view text) {
    if (ended_)
        return;
    const std::size_t begin = lines_.size();
    fmt::format_to(std::back_inserter(lines_), "{} {} {}\n", event_, device, text);
    hash_ = XXH3_64bits_withSeed(lines_.data() + begin, lines_.size() - begin, hash_);
    ++count_;
    if (lines_.size() >= kFlushed)
        flush();
}

void DecisionLog::flush() {
    if (sink_ && !lines_.empty())
        sink_(lines_);
    lines_.clear();
}

void DecisionLog::end() {
    flush();
    ended_ = true;
}

std::string DecisionDevice::position(Address address) const {
    auto next = segments_.upper_bound(to_integer(address));
    if (next == segments_.begin())
        return "nowhere";
    const auto& [begin, segment] = *--next;
    const Bytes offset = to_integer(address) - begin;
    if (offset >= segment.size)
        return "nowhere";
    return offset == 0 ? segment.name : fmt::format("{}+{}", segment.name, offset);
}

std::string DecisionDevice::handle_name(std::uint64_t handle) const {
    const auto found = handles_.find(handle);
    return found == handles_.end() ? "h?" : fmt::format("h{}", found->second);
}

std::string DecisionDevice::event_name(std::uint64_t event) const {
    const auto found = events_.find(event);
    return found == events_.end() ? "e?" : fmt::format("e{}", found->second);
}

std::string DecisionDevice::open(char kind, Address address, Bytes size) {
    std::string name = fmt::format("{}{}", kind, ++opened_[kind]);
    segments_.insert_or_assign(to_integer(address), Segment{size, name});
    return name;
}

// The request.
std::string DecisionDevice::text(const CallArguments& a) const {
    const std::string_view call = to_text(a.call);
    switch (a.call) {
        case DeviceCall::free:
        case DeviceCall::host_free:
            return fmt::format("{} {}", call, position(a.address));
        case DeviceCall::malloc_async:
            return fmt::format("{} {} {}", call, a.size, to_integer(a.stream));
        case DeviceCall::free_async:
            return fmt::format("{} {} {}", call, position(a.address), to_integer(a.stream));
        case DeviceCall::unreserve:
        case DeviceCall::unmap:
            return fmt::format("{} {} {}", call, position(a.address), a.size);
        case DeviceCall::release:
            return fmt::format("{} {}", call, handle_name(a.handle));
        case DeviceCall::map:
            return fmt::format("{} {} {} {}", call, position(a.address), a.size,
                               handle_name(a.handle));
        case DeviceCall::set_access:
            return fmt::format("{} {} {} {}", call, position(a.address), a.size,
                               a.value != 0 ? "write" : "read");
        case DeviceCall::set_access_for:
            return fmt::format("{} {} {} {} {}", call, position(a.address), a.size, a.handle,
                               a.value != 0 ? "write" : "read");
        case DeviceCall::record:
        case DeviceCall::synchronize:
        case DeviceCall::begin_capture:
        case DeviceCall::end_capture:
        case DeviceCall::launch:
            return fmt::format("{} {}", call, to_integer(a.stream));
        case DeviceCall::complete:
            return fmt::format("{} {}", call, event_name(a.handle));
        case DeviceCall::wait:
            return fmt::format("{} {} {}", call, to_integer(a.stream), event_name(a.handle));
        case DeviceCall::synchronize_device:
        case DeviceCall::destroy_graph:
        case DeviceCall::host_register:
        case DeviceCall::host_unregister:
            return std::string(call);
        default:
            return fmt::format("{} {}", call, a.size);
    }
}

// What came of a call that went well.
std::string DecisionDevice::given(const CallArguments& a, const CallOutcome& outcome) {
    switch (a.call) {
        case DeviceCall::malloc:
            return " -> " + open('p', outcome.address, a.size);
        case DeviceCall::malloc_async:
            return " -> " + open('a', outcome.address, a.size);
        case DeviceCall::host_malloc:
            return " -> " + open('m', outcome.address, a.size);
        case DeviceCall::reserve:
            return " -> " + open('v', outcome.address, a.size);
        case DeviceCall::create:
            handles_.insert_or_assign(outcome.handle, ++opened_['h']);
            return " -> " + handle_name(outcome.handle);
        case DeviceCall::record:
            events_.insert_or_assign(outcome.handle, ++opened_['e']);
            return " -> " + event_name(outcome.handle);
        case DeviceCall::complete:
            return outcome.handle != 0 ? " -> yes" : " -> no";
        default:
            return {};
    }
}

void DecisionDevice::forget(const CallArguments& a) {
    if (a.call == DeviceCall::free || a.call == DeviceCall::free_async ||
        a.call == DeviceCall::host_free || a.call == DeviceCall::unreserve)
        segments_.erase(to_integer(a.address));
    else if (a.call == DeviceCall::release)
        handles_.erase(a.handle);
}

void DecisionDevice::called(const CallArguments& arguments, const CallOutcome& outcome) {
    if (!is_decision(arguments.call))
        return;
    std::string line = text(arguments);
    if (outcome.ok) {
        forget(arguments);
        line += given(arguments, outcome);
    } else {
        line += fmt::format(" -> {}", to_text(outcome.status));
    }
    log_.add(number_, line);
}

void DecisionDevice::granted(const Request& request, const Allocation& allocation) {
    log_.add(number_,
             fmt::format("grant {} {} -> {} ({})", request.size, to_integer(request.stream),
                         position(allocation.address), allocation.size));
}

void DecisionDevice::refused(const Request& request, const OutOfMemory& why) {
    log_.add(number_, fmt::format("refuse {} {}: {}", request.size, to_integer(request.stream),
                                  to_text(why.cause)));
}

tl::expected<Allocation, OutOfMemory> DecisionAllocator::allocate(const Request& request) {
    const auto allocation = WrappedAllocator::allocate(request);
    if (allocation)
        device_.granted(request, *allocation);
    else
        device_.refused(request, allocation.error());
    return allocation;
}

}  // namespace tidemark
