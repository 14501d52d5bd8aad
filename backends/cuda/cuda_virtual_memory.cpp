// CudaDevice, virtual memory: reservations, physical memory, mappings, access and export.
#include <algorithm>

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/cuda_device.h"

namespace tidemark {
namespace {

using cuda::CUdeviceptr;
using cuda::CUmemHandle;

constexpr const char* kNoVirtualMemory = "the device has no virtual memory management";
constexpr const char* kUnknownHandle = "no such physical memory";

}  // namespace

DeviceResult<Range> CudaDevice::reserve(Bytes size) {
    CudaCall call{*context_, DeviceCall::reserve};
    if (!info_.virtual_memory)
        return call.refuse(DeviceStatus::not_supported, kNoVirtualMemory);
    relax_while_capturing(call);
    CUdeviceptr begin = 0;
    TM_TRY(call.make(driver_->cuMemAddressReserve, &begin, size, std::size_t{0}, CUdeviceptr{0},
                     0ULL));
    holdings_.reserved({Address{begin}, size});
    return Range{Address{begin}, size};
}

DeviceResult<void> CudaDevice::unreserve(Range range) {
    CudaCall call{*context_, DeviceCall::unreserve};
    relax_while_capturing(call);
    const auto done = call.make(driver_->cuMemAddressFree, device_pointer(range.begin), range.size);
    if (done)
        holdings_.unreserved(range);
    return done;
}

DeviceResult<PhysicalId> CudaDevice::create(Location where, Bytes size) {
    CudaCall call{*context_, DeviceCall::create};
    if (!info_.virtual_memory)
        return call.refuse(DeviceStatus::not_supported, kNoVirtualMemory);
    cuda::CUmemAllocationProp properties;
    properties.location = {cuda::CUmemLocationType::device, info_.ordinal};
    if (where.kind == Location::Kind::host)
        properties.location = {cuda::CUmemLocationType::host_numa, where.index};
    if (where.kind == Location::Kind::disk ||
        (where.kind == Location::Kind::host && !info_.host_numa_memory))
        return call.refuse(DeviceStatus::not_supported, "no physical memory at such a location");
    relax_while_capturing(call);
    const cuda::CUmemAllocationProp* wanted = &properties;
    CUmemHandle handle = 0;
    TM_TRY(call.make(driver_->cuMemCreate, &handle, size, wanted, 0ULL));
    call.grew();
    return PhysicalId{physicals_.insert(handle)};
}

DeviceResult<void> CudaDevice::release(PhysicalId physical) {
    CudaCall call{*context_, DeviceCall::release};
    const auto handle = physicals_.take(to_integer(physical));
    if (!handle)
        return call.refuse(DeviceStatus::invalid_value, kUnknownHandle);
    relax_while_capturing(call);
    const auto done = call.make(driver_->cuMemRelease, *handle);
    if (!done)
        physicals_.restore(to_integer(physical), *handle);
    return done;
}

DeviceResult<void> CudaDevice::map(Range range, PhysicalId physical) {
    CudaCall call{*context_, DeviceCall::map};
    const auto handle = physicals_.find(to_integer(physical));
    if (!handle)
        return call.refuse(DeviceStatus::invalid_value, kUnknownHandle);
    relax_while_capturing(call);
    const auto done = call.make(driver_->cuMemMap, device_pointer(range.begin), range.size,
                                std::size_t{0}, *handle, 0ULL);
    if (done)
        holdings_.mapped(range);
    return done;
}

DeviceResult<void> CudaDevice::unmap(Range range) {
    CudaCall call{*context_, DeviceCall::unmap};
    relax_while_capturing(call);
    const auto done = call.make(driver_->cuMemUnmap, device_pointer(range.begin), range.size);
    if (done)
        holdings_.unmapped(range);
    return done;
}

DeviceResult<void> CudaDevice::grant(CudaCall& call, int ordinal, Range range, bool writable) {
    cuda::CUmemAccessDesc access;
    access.location = {cuda::CUmemLocationType::device, ordinal};
    access.flags = writable ? cuda::CUmemAccess_flags::read_write : cuda::CUmemAccess_flags::read;
    relax_while_capturing(call);
    const cuda::CUmemAccessDesc* wanted = &access;
    return call.make(driver_->cuMemSetAccess, device_pointer(range.begin), range.size, wanted,
                     std::size_t{1});
}

DeviceResult<void> CudaDevice::set_access(Range range, bool writable) {
    CudaCall call{*context_, DeviceCall::set_access};
    if (!info_.virtual_memory)
        return call.refuse(DeviceStatus::not_supported, kNoVirtualMemory);
    std::vector<int> others;
    {
        const std::lock_guard lock(opened_mutex_);
        others = opened_to_;
    }
    TM_TRY(grant(call, info_.ordinal, range, writable));
    for (const int ordinal : others)
        TM_TRY(grant(call, ordinal, range, writable));
    return {};
}

DeviceResult<void> CudaDevice::set_access_for(Location who, Range range, bool writable) {
    CudaCall call{*context_, DeviceCall::set_access_for};
    if (who.kind != Location::Kind::device || !has(Feature::peer_access))
        return call.refuse(DeviceStatus::not_supported, "no such device can be given access");
    const int ordinal = who.index;
    if (ordinal == info_.ordinal)
        return call.refuse(DeviceStatus::invalid_value, "its own access is given by set_access");
    if (std::find(info_.peers.begin(), info_.peers.end(), ordinal) == info_.peers.end())
        return call.refuse(DeviceStatus::not_supported, "that device cannot reach this one");
    return grant(call, ordinal, range, writable);
}

// Listed before the mappings are read: new mappings meanwhile are in one of the two.
DeviceResult<void> CudaDevice::open_to(int ordinal) {
    {
        const std::lock_guard lock(opened_mutex_);
        if (std::find(opened_to_.begin(), opened_to_.end(), ordinal) != opened_to_.end())
            return {};
        if (std::find(info_.peers.begin(), info_.peers.end(), ordinal) != info_.peers.end())
            opened_to_.push_back(ordinal);
    }
    const Location who{Location::Kind::device, static_cast<std::uint16_t>(ordinal)};
    for (const Range& range : holdings_.mappings())
        TM_TRY(set_access_for(who, range, true));
    return {};
}

}  // namespace tidemark
