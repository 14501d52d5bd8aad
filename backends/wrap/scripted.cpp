// Memory by the script; every group that a recorded plain run cannot need is not supported.
#include "backends/wrap/scripted.h"

namespace tidemark {
namespace {

// Invented addresses start here: above anything that a GPU's 49-bit address space reaches.
constexpr std::uint64_t kInvented = std::uint64_t{1} << 60;

bool takes_memory(const ScriptedDevice::Call& call) {
    return call.call == DeviceCall::malloc || call.call == DeviceCall::set_access;
}

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
    pool_ = other.pool_;
    script_ = other.script_;
    next_ = other.next_;
    refuses_ = other.refuses_;
    log_ = other.log_;
    held_ = other.held_;
    unmapped_handles_ = other.unmapped_handles_;
    awaited_ = other.awaited_;
    invented_ = other.invented_;
    handles_ = other.handles_;
    counters_ = other.counters_;
    mirror_ = nullptr;
    return *this;
}

void ScriptedDevice::add_twin(Address address, Address twin, Bytes size) {
    twins_[address] = {twin, size};
}

// Null where the mirror has nothing, and without a mirror.
Range ScriptedDevice::twin_of(Range range) const {
    auto found = twins_.upper_bound(range.begin);
    if (mirror_ == nullptr || found == twins_.begin())
        return {};
    --found;
    const Bytes offset = range.begin - found->first;
    if (offset >= found->second.size)
        return {};
    return {found->second.first + offset, range.size};
}

void ScriptedDevice::play(std::span<const Call> script, bool refuses) {
    script_.assign(script.begin(), script.end());
    next_ = 0;
    refuses_ = refuses;
    log_.clear();
}

bool ScriptedDevice::is_full(Bytes size) const {
    const bool taken_now = log_.size() < script_.size() && takes_memory(script_[log_.size()]);
    return used_ > capacity_ || size > capacity_ - used_ || (refuses_ && !taken_now);
}

// Where the script takes memory next; an address that no real device has if it doesn't.
Address ScriptedDevice::take_address(Bytes size) {
    while (next_ < script_.size() && !takes_memory(script_[next_]))
        ++next_;
    if (next_ < script_.size())
        return script_[next_++].range.begin;
    const Address address{kInvented + invented_};
    invented_ += align_up(size, granularity());
    return address;
}

void ScriptedDevice::hold(Range range) {
    held_[to_integer(range.begin)] = range.size;
    used_ += range.size;
}

DeviceResult<Address> ScriptedDevice::malloc(Bytes size) {
    if (is_full(size))
        return tl::make_unexpected(DeviceError{DeviceStatus::out_of_memory, DeviceCall::malloc, 0});
    const Address address = take_address(size);
    held_[to_integer(address)] = size;
    used_ += size;
    log_.push_back({DeviceCall::malloc, {address, size}});
    if (mirror_ != nullptr) {
        if (const auto twin = mirror_->malloc(size))
            add_twin(address, *twin, size);
    }
    return address;
}

DeviceResult<void> ScriptedDevice::free(Address address) {
    const auto found = held_.find(to_integer(address));
    if (found == held_.end())
        return tl::make_unexpected(DeviceError{DeviceStatus::invalid_value, DeviceCall::free, 0});
    log_.push_back({DeviceCall::free, {address, found->second}});
    used_ -= found->second;
    if (const Range twin = twin_of({address, found->second}); twin.size != 0) {
        static_cast<void>(mirror_->free(twin.begin));
        twins_.erase(address);
    }
    held_.erase(found);
    return {};
}

DeviceResult<Address> ScriptedDevice::malloc_async(Bytes size, StreamId stream) {
    constexpr DeviceCall kCall = DeviceCall::malloc_async;
    if (!pool_)
        return not_supported(kCall);
    if (size == 0)
        return tl::make_unexpected(DeviceError{DeviceStatus::invalid_value, kCall, 0});
    const Bytes room = refuses_ || used_ > capacity_ ? 0 : capacity_ - used_;
    const auto taken = pool_->take(align_up(size, DriverPool::kUnit), stream, 0, room);
    if (!taken)
        return tl::make_unexpected(DeviceError{DeviceStatus::out_of_memory, kCall, 0});
    used_ += taken->grown;
    if (mirror_ != nullptr) {
        if (const auto twin = mirror_->malloc_async(size, stream))
            add_twin(taken->address, *twin, size);
    }
    return taken->address;
}

DeviceResult<void> ScriptedDevice::free_async(Address address, StreamId stream) {
    if (!pool_)
        return not_supported(DeviceCall::free_async);
    const Bytes size = pool_->give(address, stream, 0);
    if (size == 0)
        return tl::make_unexpected(
            DeviceError{DeviceStatus::invalid_value, DeviceCall::free_async, 0});
    if (const Range twin = twin_of({address, size}); twin.size != 0) {
        static_cast<void>(mirror_->free_async(twin.begin, stream));
        twins_.erase(address);
    }
    return {};
}

DeviceResult<void> ScriptedDevice::set_pool_threshold(Bytes threshold) {
    if (!pool_)
        return not_supported(DeviceCall::set_pool_threshold);
    pool_->set_threshold(threshold);
    if (mirror_ != nullptr)
        static_cast<void>(mirror_->set_pool_threshold(threshold));
    return {};
}

DeviceResult<void> ScriptedDevice::trim_pool(Bytes keep) {
    if (!pool_)
        return not_supported(DeviceCall::trim_pool);
    used_ -= pool_->trim(keep, 0);
    if (mirror_ != nullptr)
        static_cast<void>(mirror_->trim_pool(keep));
    return {};
}

DeviceResult<Range> ScriptedDevice::reserve(Bytes size) {
    const std::size_t next = next_;
    const Address begin = take_address(size);
    next_ = next;  // the pages there are taken when they are mapped
    if (mirror_ != nullptr) {
        if (const auto twin = mirror_->reserve(size))
            add_twin(begin, twin->begin, size);
    }
    return Range{begin, size};
}

DeviceResult<void> ScriptedDevice::unreserve(Range range) {
    if (const Range twin = twin_of(range); twin.size != 0) {
        static_cast<void>(mirror_->unreserve(twin));
        twins_.erase(range.begin);
    }
    return {};
}

DeviceResult<PhysicalId> ScriptedDevice::create(Location where, Bytes size) {
    if (is_full(size))
        return tl::make_unexpected(DeviceError{DeviceStatus::out_of_memory, DeviceCall::create, 0});
    used_ += size;
    unmapped_handles_[++handles_] = size;
    if (mirror_ != nullptr) {
        if (const auto twin = mirror_->create(where, size))
            twin_handles_[handles_] = *twin;
    }
    return PhysicalId{handles_};
}

DeviceResult<void> ScriptedDevice::release(PhysicalId physical) {
    if (const auto found = unmapped_handles_.find(to_integer(physical));
        found != unmapped_handles_.end()) {
        used_ -= found->second;
        unmapped_handles_.erase(found);
    }
    if (const auto twin = twin_handles_.find(to_integer(physical)); twin != twin_handles_.end()) {
        static_cast<void>(mirror_->release(twin->second));
        twin_handles_.erase(twin);
    }
    return {};
}

DeviceResult<void> ScriptedDevice::map(Range range, PhysicalId physical) {
    unmapped_handles_.erase(to_integer(physical));
    const auto handle = twin_handles_.find(to_integer(physical));
    if (const Range twin = twin_of(range); twin.size != 0 && handle != twin_handles_.end())
        static_cast<void>(mirror_->map(twin, handle->second));
    return {};
}

DeviceResult<void> ScriptedDevice::unmap(Range range) {
    used_ -= range.size;
    log_.push_back({DeviceCall::unmap, range});
    if (const Range twin = twin_of(range); twin.size != 0)
        static_cast<void>(mirror_->unmap(twin));
    return {};
}

DeviceResult<void> ScriptedDevice::set_access(Range range, bool writable) {
    take_address(0);
    log_.push_back({DeviceCall::set_access, range});
    if (const Range twin = twin_of(range); twin.size != 0)
        static_cast<void>(mirror_->set_access(twin, writable));
    return {};
}

// For an event it is enough to know the stream: nobody waits for two on one stream.
DeviceResult<EventId> ScriptedDevice::record(StreamId stream) {
    return EventId{std::uint64_t{1} + to_integer(stream)};
}

DeviceResult<bool> ScriptedDevice::complete(EventId event) {
    return awaited_.count(static_cast<std::uint32_t>(to_integer(event) - 1)) == 0;
}

DeviceResult<void> ScriptedDevice::wait(StreamId, EventId) {
    return {};
}

DeviceResult<void> ScriptedDevice::synchronize(StreamId stream) {
    finish(stream);
    synchronize_pool(stream);
    return {};
}

DeviceResult<void> ScriptedDevice::synchronize_device() {
    awaited_.clear();
    synchronize_pool();
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
