// See real_host_device.h.
#include "tests/support/real_host_device.h"

#include <span>
#include <utility>

#include "core/base/check.h"

namespace tidemark::support {

namespace {

constexpr Bytes kPage = 4096;

std::span<std::byte> bytes_at(Address address, Bytes size) {
    return {reinterpret_cast<std::byte*>(to_integer(address)), size};
}

}  // namespace

DeviceResult<Address> RealHostDevice::host_malloc(Bytes size) {
    const DeviceResult<Address> shadow = sim_.host_malloc(size);
    if (!shadow)
        return shadow;
    HostMemory memory;
    memory.bytes.resize(size + kPage);
    memory.shadow = *shadow;
    memory.size = size;
    const Address address{align_up(reinterpret_cast<std::uintptr_t>(memory.bytes.data()), kPage)};
    memory_.emplace(address, std::move(memory));
    return address;
}

DeviceResult<void> RealHostDevice::host_free(Address address) {
    const auto found = memory_.find(address);
    TM_CHECK(found != memory_.end());
    const DeviceResult<void> freed = sim_.host_free(found->second.shadow);
    if (freed)
        memory_.erase(found);
    return freed;
}

Address RealHostDevice::shadow_of(Address address) const {
    auto behind = memory_.upper_bound(address);
    if (behind == memory_.begin())
        return Address::null;
    const auto& [begin, memory] = *--behind;
    return address - begin < memory.size ? memory.shadow + (address - begin) : Address::null;
}

DeviceResult<void> RealHostDevice::copy(Address target, Address source, Bytes size,
                                        StreamId stream) {
    const Address real_target = shadow_of(target);
    const Address real_source = shadow_of(source);
    const bool to_host = real_target != Address::null;
    if (!to_host && real_source == Address::null)
        return sim_.copy(target, source, size, stream);
    const DeviceResult<void> queued =
        sim_.copy(to_host ? real_target : target, to_host ? source : real_source, size, stream);
    if (queued)
        streams_[stream].queued.push_back({target, source, size, to_host});
    return queued;
}

void RealHostDevice::move_until(StreamId id, std::uint64_t until) {
    Stream& stream = streams_[id];
    std::size_t moved = 0;
    for (; moved < stream.queued.size() && stream.first + moved < until; ++moved) {
        const Movement& movement = stream.queued[moved];
        if (movement.to_host)
            TM_CHECK(sim_.read(movement.source, bytes_at(movement.target, movement.size)));
        else
            TM_CHECK(sim_.write(movement.target, bytes_at(movement.source, movement.size)));
    }
    stream.queued.erase(stream.queued.begin(),
                        stream.queued.begin() + static_cast<std::ptrdiff_t>(moved));
    stream.first += moved;
}

void RealHostDevice::move_all() {
    for (auto& [id, stream] : streams_)
        move_until(id, ~std::uint64_t{0});
}

DeviceResult<EventId> RealHostDevice::record(StreamId stream) {
    const DeviceResult<EventId> event = sim_.record(stream);
    if (event) {
        const Stream& queue = streams_[stream];
        points_[*event] = {stream, queue.first + queue.queued.size()};
    }
    return event;
}

DeviceResult<bool> RealHostDevice::complete(EventId event) {
    const DeviceResult<bool> complete = sim_.complete(event);
    const auto point = points_.find(event);
    if (complete && *complete && point != points_.end()) {
        move_until(point->second.stream, point->second.until);
        points_.erase(point);
    }
    return complete;
}

DeviceResult<void> RealHostDevice::synchronize(StreamId stream) {
    const DeviceResult<void> done = sim_.synchronize(stream);
    if (done)
        move_until(stream, ~std::uint64_t{0});
    return done;
}

DeviceResult<void> RealHostDevice::synchronize_device() {
    const DeviceResult<void> done = sim_.synchronize_device();
    if (done)
        move_all();
    return done;
}

DeviceResult<void> RealHostDevice::free(Address address) {
    move_all();  // a free waits for everything
    return sim_.free(address);
}

}  // namespace tidemark::support
