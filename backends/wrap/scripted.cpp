// Plain memory by the script; every group that a recorded plain run cannot need is not supported.
#include "backends/wrap/scripted.h"

namespace tidemark {
namespace {

// Invented addresses begin here: above anything that a GPU's 49-bit address space reaches.
constexpr std::uint64_t kInvented = std::uint64_t{1} << 60;

tl::unexpected<DeviceError> not_supported(DeviceCall call) {
    return tl::make_unexpected(DeviceError{DeviceStatus::not_supported, call, 0});
}

}  // namespace

ScriptedDevice::ScriptedDevice(const ScriptedDevice& other) : Device(), capacity_(0) {
    *this = other;
}

ScriptedDevice& ScriptedDevice::operator=(const ScriptedDevice& other) {
    capacity_ = other.capacity_;
    used_ = other.used_;
    script_ = other.script_;
    next_ = other.next_;
    log_ = other.log_;
    held_ = other.held_;
    invented_ = other.invented_;
    events_ = other.events_;
    counters_ = other.counters_;
    return *this;
}

void ScriptedDevice::play(std::span<const Range> script) {
    script_.assign(script.begin(), script.end());
    next_ = 0;
    log_.clear();
}

void ScriptedDevice::hold(Range range) {
    held_[to_integer(range.begin)] = range.size;
    used_ += range.size;
}

DeviceResult<Address> ScriptedDevice::malloc(Bytes size) {
    if (size > capacity_ - used_)
        return tl::make_unexpected(DeviceError{DeviceStatus::out_of_memory, DeviceCall::malloc, 0});
    Address address{kInvented + invented_};
    if (next_ < script_.size()) {
        address = script_[next_++].begin;
    } else {
        invented_ += align_up(size, granularity());
    }
    held_[to_integer(address)] = size;
    used_ += size;
    log_.push_back({DeviceCall::malloc, {address, size}});
    return address;
}

DeviceResult<void> ScriptedDevice::free(Address address) {
    const auto found = held_.find(to_integer(address));
    if (found == held_.end())
        return tl::make_unexpected(DeviceError{DeviceStatus::invalid_value, DeviceCall::free, 0});
    log_.push_back({DeviceCall::free, {address, found->second}});
    used_ -= found->second;
    held_.erase(found);
    return {};
}

DeviceResult<Address> ScriptedDevice::malloc_async(Bytes, StreamId) {
    return not_supported(DeviceCall::malloc_async);
}

DeviceResult<void> ScriptedDevice::free_async(Address, StreamId) {
    return not_supported(DeviceCall::free_async);
}

DeviceResult<void> ScriptedDevice::set_pool_threshold(Bytes) {
    return not_supported(DeviceCall::set_pool_threshold);
}

DeviceResult<void> ScriptedDevice::trim_pool(Bytes) {
    return not_supported(DeviceCall::trim_pool);
}

DeviceResult<Range> ScriptedDevice::reserve(Bytes) {
    return not_supported(DeviceCall::reserve);
}

DeviceResult<void> ScriptedDevice::unreserve(Range) {
    return not_supported(DeviceCall::unreserve);
}

DeviceResult<PhysicalId> ScriptedDevice::create(Location, Bytes) {
    return not_supported(DeviceCall::create);
}

DeviceResult<void> ScriptedDevice::release(PhysicalId) {
    return not_supported(DeviceCall::release);
}

DeviceResult<void> ScriptedDevice::map(Range, PhysicalId) {
    return not_supported(DeviceCall::map);
}

DeviceResult<void> ScriptedDevice::unmap(Range) {
    return not_supported(DeviceCall::unmap);
}

DeviceResult<void> ScriptedDevice::set_access(Range, bool) {
    return not_supported(DeviceCall::set_access);
}

DeviceResult<EventId> ScriptedDevice::record(StreamId) {
    return EventId{++events_};
}

DeviceResult<bool> ScriptedDevice::complete(EventId) {
    return true;
}

DeviceResult<void> ScriptedDevice::wait(StreamId, EventId) {
    return {};
}

DeviceResult<void> ScriptedDevice::synchronize(StreamId) {
    return {};
}

DeviceResult<void> ScriptedDevice::synchronize_device() {
    return {};
}

DeviceResult<void> ScriptedDevice::copy(Address, Address, Bytes, StreamId) {
    return not_supported(DeviceCall::copy);
}

DeviceResult<void> ScriptedDevice::fill(Address, std::uint8_t, Bytes, StreamId) {
    return not_supported(DeviceCall::fill);
}

DeviceResult<Address> ScriptedDevice::host_malloc(Bytes) {
    return not_supported(DeviceCall::host_malloc);
}

DeviceResult<void> ScriptedDevice::host_free(Address) {
    return not_supported(DeviceCall::host_free);
}

}  // namespace tidemark
