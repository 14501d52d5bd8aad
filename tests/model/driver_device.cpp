// Handles, mappings and events over the scripted driver.
#include "tests/model/driver_device.h"

#include <fmt/format.h>

namespace tidemark::model {
namespace {

tl::unexpected<DeviceError> refused(DeviceStatus status, DeviceCall call) {
    return tl::make_unexpected(DeviceError{status, call, 0});
}

}  // namespace

std::unique_ptr<DriverDevice> DriverDevice::copy() const {
    return std::unique_ptr<DriverDevice>(new DriverDevice(state_));
}

tl::unexpected<DeviceError> DriverDevice::misused(DeviceCall call, Range range) {
    if (state_.misuse.empty())
        state_.misuse =
            fmt::format("{} of {:#x} +{}", to_text(call), to_integer(range.begin), range.size);
    return refused(DeviceStatus::invalid_value, call);
}

MemoryInfo DriverDevice::memory() const {
    return {.total = state_.driver.capacity(), .free = state_.driver.unused()};
}

DeviceResult<Address> DriverDevice::malloc(Bytes size) {
    if (size == 0)
        return misused(DeviceCall::malloc, {Address::null, size});
    if (const auto address = state_.driver.segment_alloc(size))
        return *address;
    return refused(DeviceStatus::out_of_memory, DeviceCall::malloc);
}

DeviceResult<void> DriverDevice::free(Address address) {
    if (!state_.driver.segment_free(address))
        return misused(DeviceCall::free, {address, 0});
    return {};
}

DeviceResult<Address> DriverDevice::malloc_async(Bytes size, StreamId /*stream*/) {
    return misused(DeviceCall::malloc_async, {Address::null, size});
}

DeviceResult<void> DriverDevice::free_async(Address address, StreamId /*stream*/) {
    return misused(DeviceCall::free_async, {address, 0});
}

DeviceResult<void> DriverDevice::set_pool_threshold(Bytes threshold) {
    return misused(DeviceCall::set_pool_threshold, {Address::null, threshold});
}

DeviceResult<void> DriverDevice::trim_pool(Bytes keep) {
    return misused(DeviceCall::trim_pool, {Address::null, keep});
}

DeviceResult<Range> DriverDevice::reserve(Bytes size) {
    if (size == 0 || size % granularity() != 0)
        return misused(DeviceCall::reserve, {Address::null, size});
    return state_.driver.reserve(size);
}

DeviceResult<void> DriverDevice::unreserve(Range range) {
    const auto mapping = state_.mappings.lower_bound(range.begin);
    const bool mapped = mapping != state_.mappings.end() &&
                        to_integer(mapping->first) < to_integer(range.begin + range.size);
    if (mapped || !state_.driver.unreserve(range))
        return misused(DeviceCall::unreserve, range);
    return {};
}

DeviceResult<PhysicalId> DriverDevice::create(Location where, Bytes size) {
    if (where.kind != Location::Kind::device || size == 0 || size % granularity() != 0)
        return misused(DeviceCall::create, {Address::null, size});
    if (!state_.driver.take(size))
        return refused(DeviceStatus::out_of_memory, DeviceCall::create);
    const PhysicalId physical{state_.next_id++};
    state_.handles[physical] = {.size = size};
    return physical;
}

// A handle is gone when nobody holds it and nothing shows it.
bool DriverDevice::give_if_unused(PhysicalId physical) {
    const auto found = state_.handles.find(physical);
    if (found == state_.handles.end())
        return false;
    if (found->second.released && !found->second.mapped) {
        state_.driver.give(found->second.size);
        state_.handles.erase(found);
    }
    return true;
}

DeviceResult<void> DriverDevice::release(PhysicalId physical) {
    const auto found = state_.handles.find(physical);
    if (found == state_.handles.end() || found->second.released)
        return misused(DeviceCall::release, {});
    found->second.released = true;
    give_if_unused(physical);
    return {};
}

DeviceResult<void> DriverDevice::map(Range range, PhysicalId physical) {
    const auto handle = state_.handles.find(physical);
    const auto next = state_.mappings.lower_bound(range.begin);
    const bool overlaps =
        (next != state_.mappings.end() && next->first - range.begin < range.size) ||
        (next != state_.mappings.begin() &&
         range.begin - std::prev(next)->first < std::prev(next)->second.size);
    if (overlaps || handle == state_.handles.end() || handle->second.mapped ||
        handle->second.size != range.size)
        return misused(DeviceCall::map, range);
    handle->second.mapped = true;
    state_.mappings[range.begin] = {.size = range.size, .physical = physical};
    return {};
}

bool DriverDevice::covers_whole_mappings(Range range, bool accessible) const {
    Address at = range.begin;
    while (at - range.begin < range.size) {
        const auto found = state_.mappings.find(at);
        if (found == state_.mappings.end() || found->second.accessible != accessible)
            return false;
        at = at + found->second.size;
    }
    return at - range.begin == range.size && range.size != 0;
}

DeviceResult<void> DriverDevice::set_access(Range range, bool writable) {
    if (!writable || !covers_whole_mappings(range, false))
        return misused(DeviceCall::set_access, range);
    const auto end = state_.mappings.lower_bound(range.begin + range.size);
    for (auto it = state_.mappings.find(range.begin); it != end; ++it)
        it->second.accessible = true;
    state_.driver.note(Effect::Kind::segment_map, range);
    return {};
}

DeviceResult<void> DriverDevice::unmap(Range range) {
    const bool was_usable = covers_whole_mappings(range, true);
    if (!was_usable && !covers_whole_mappings(range, false))
        return misused(DeviceCall::unmap, range);
    const auto end = state_.mappings.lower_bound(range.begin + range.size);
    for (auto it = state_.mappings.find(range.begin); it != end; it = state_.mappings.erase(it)) {
        state_.handles.at(it->second.physical).mapped = false;
        give_if_unused(it->second.physical);
    }
    if (was_usable)
        state_.driver.note(Effect::Kind::segment_unmap, range);
    return {};
}

DeviceResult<EventId> DriverDevice::record(StreamId stream) {
    const EventId event{state_.next_id++};
    state_.events[event] = {stream, state_.driver.now()};
    return event;
}

DeviceResult<bool> DriverDevice::complete(EventId event) {
    const auto found = state_.events.find(event);
    if (found == state_.events.end())
        return misused(DeviceCall::complete, {});
    return state_.driver.done(found->second.stream, found->second.step);
}

DeviceResult<void> DriverDevice::wait(StreamId /*stream*/, EventId event) {
    if (!state_.events.contains(event))
        return misused(DeviceCall::wait, {});
    return {};
}

DeviceResult<void> DriverDevice::synchronize(StreamId stream) {
    state_.driver.synchronize(stream);
    return {};
}

DeviceResult<void> DriverDevice::synchronize_device() {
    state_.driver.synchronize_all();
    return {};
}

DeviceResult<void> DriverDevice::copy(Address target, Address /*source*/, Bytes size,
                                      StreamId /*stream*/) {
    return misused(DeviceCall::copy, {target, size});
}

DeviceResult<void> DriverDevice::fill(Address target, std::uint8_t /*value*/, Bytes size,
                                      StreamId /*stream*/) {
    return misused(DeviceCall::fill, {target, size});
}

DeviceResult<Address> DriverDevice::host_malloc(Bytes size) {
    return misused(DeviceCall::host_malloc, {Address::null, size});
}

DeviceResult<void> DriverDevice::host_free(Address address) {
    return misused(DeviceCall::host_free, {address, 0});
}

}  // namespace tidemark::model
