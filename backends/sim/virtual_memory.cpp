// The page table: what may be mapped where.
#include "backends/sim/virtual_memory.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {
namespace {

tl::unexpected<DeviceError> invalid(DeviceCall call) {
    return tl::make_unexpected(DeviceError{DeviceStatus::invalid_value, call, 0});
}

}  // namespace

DeviceResult<Range> VirtualMemory::reserve(Bytes size) {
    if (!aligned(size))
        return invalid(DeviceCall::reserve);
    const std::optional<Range> range = space_.take(size);
    if (!range)
        return tl::make_unexpected(
            DeviceError{DeviceStatus::address_space, DeviceCall::reserve, 0});
    return *range;
}

DeviceResult<void> VirtualMemory::unreserve(Range range) {
    const std::optional<Range> reserved = space_.find(range.begin);
    if (!reserved || *reserved != range)
        return invalid(DeviceCall::unreserve);
    const auto mapping = mappings_.lower_bound(range.begin);
    if (mapping != mappings_.end() && mapping->first < range.begin + range.size)
        return invalid(DeviceCall::unreserve);
    space_.give(range);
    return {};
}

DeviceResult<PhysicalId> VirtualMemory::create(Bytes size) {
    if (!aligned(size))
        return invalid(DeviceCall::create);
    const std::uint64_t id = ++handle_count_;
    handles_.emplace(id, Handle{.size = size, .physical = Address{next_physical_}});
    next_physical_ += size;
    return PhysicalId{id};
}

DeviceResult<VirtualMemory::Released> VirtualMemory::release(PhysicalId physical) {
    const auto found = handles_.find(to_integer(physical));
    if (found == handles_.end() || found->second.released)
        return invalid(DeviceCall::release);
    Handle& handle = found->second;
    Released released{.size = handle.size, .freed = {handle.physical, 0}};
    handle.released = true;
    if (handle.mappings == 0) {
        released.freed.size = handle.size;
        handles_.erase(found);
    }
    return released;
}

DeviceResult<void> VirtualMemory::map(Range range, PhysicalId physical) {
    const auto found = handles_.find(to_integer(physical));
    if (found == handles_.end() || found->second.released)
        return invalid(DeviceCall::map);
    Handle& handle = found->second;
    if (!aligned(range.size) || to_integer(range.begin) % granularity_ != 0 ||
        range.size > handle.size)
        return invalid(DeviceCall::map);
    const std::optional<Range> reserved = space_.find(range.begin);
    if (!reserved || range.size > reserved->begin + reserved->size - range.begin)
        return invalid(DeviceCall::map);
    const auto next = mappings_.lower_bound(range.begin);
    if (next != mappings_.end() && next->first < range.begin + range.size)
        return invalid(DeviceCall::map);
    if (next != mappings_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second.size > range.begin)
            return invalid(DeviceCall::map);
    }
    ++handle.mappings;
    mappings_.emplace_hint(
        next, range.begin,
        Mapping{.size = range.size, .physical = physical, .begin = handle.physical});
    return {};
}

void VirtualMemory::set_access(Range range, bool writable) {
    for (auto mapping = mappings_.find(range.begin);
         mapping != mappings_.end() && mapping->first < range.begin + range.size; ++mapping)
        mapping->second.access = writable ? Access::write : Access::read;
}

Range VirtualMemory::drop_mapping(PhysicalId physical) {
    const auto found = handles_.find(to_integer(physical));
    TM_CHECK(found != handles_.end() && found->second.mappings > 0);
    Handle& handle = found->second;
    --handle.mappings;
    if (handle.mappings > 0 || !handle.released)
        return {};
    const Range freed{handle.physical, handle.size};
    handles_.erase(found);
    return freed;
}

void VirtualMemory::set_access_for(std::uint16_t peer, Range range, bool writable) {
    const Access access = writable ? Access::write : Access::read;
    const auto end = mappings_.lower_bound(range.begin + range.size);
    for (auto mapping = mappings_.find(range.begin); mapping != end; ++mapping) {
        auto& peers = mapping->second.peers;
        const auto known = std::ranges::find(peers, peer, &std::pair<std::uint16_t, Access>::first);
        if (known == peers.end())
            peers.emplace_back(peer, access);
        else
            known->second = access;
    }
}

bool VirtualMemory::reachable_by(std::uint16_t peer, Range range, bool write) const {
    const Access needed = write ? Access::write : Access::read;
    for (Bytes done = 0; done < range.size;) {
        auto mapping = mappings_.upper_bound(range.begin + done);
        if (mapping == mappings_.begin())
            return false;
        --mapping;
        const Bytes offset = range.begin + done - mapping->first;
        if (offset >= mapping->second.size)
            return false;
        const auto& peers = mapping->second.peers;
        const auto known = std::ranges::find(peers, peer, &std::pair<std::uint16_t, Access>::first);
        if (known == peers.end() || known->second < needed)
            return false;
        done += mapping->second.size - offset;
    }
    return true;
}

Range VirtualMemory::translate(Address address, Bytes size, bool write) const {
    auto next = mappings_.upper_bound(address);
    if (next == mappings_.begin())
        return {};
    --next;
    const Mapping& mapping = next->second;
    const Bytes offset = address - next->first;
    const bool allowed = write ? mapping.access == Access::write : mapping.access != Access::none;
    if (offset >= mapping.size || !allowed)
        return {};
    return {mapping.begin + offset, std::min(size, mapping.size - offset)};
}

}  // namespace tidemark
