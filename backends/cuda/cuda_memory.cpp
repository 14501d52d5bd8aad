// CudaDevice, memory that the driver places: plain, stream-ordered, pinned on the host, and the
// parts of it that other processes may use.
#include <cstring>

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/cuda_device.h"

namespace tidemark {
namespace {

using cuda::CUdeviceptr;

void* as_pointer(Address address) {
    return reinterpret_cast<void*>(to_integer(address));
}

constexpr const char* kNoSize = "a size of 0";

}  // namespace

DeviceResult<Address> CudaDevice::malloc(Bytes size) {
    CudaCall call{*context_, DeviceCall::malloc};
    if (size == 0)
        return call.refuse(DeviceStatus::invalid_value, kNoSize);
    relax_while_capturing(call);
    CUdeviceptr pointer = 0;
    TM_TRY(call.make(driver_->cuMemAlloc_v2, &pointer, size));
    call.grew();
    return Address{pointer};
}

DeviceResult<void> CudaDevice::free(Address address) {
    CudaCall call{*context_, DeviceCall::free};
    TM_TRY(refuse_while_capturing(call));
    if (address == Address::null)
        return call.refuse(DeviceStatus::invalid_value, "a null address");
    return call.make(driver_->cuMemFree_v2, CUdeviceptr{to_integer(address)});
}

// Stream-ordered memory.

DeviceResult<cuda::CUmemoryPool> CudaDevice::pool(CudaCall& call) {
    if (!info_.memory_pools)
        return call.refuse(DeviceStatus::not_supported, "the device has no memory pools");
    const std::lock_guard lock{mutex_};
    if (pool_ != nullptr)
        return pool_;
    cuda::CUmemPoolProps properties;
    properties.location = {cuda::CUmemLocationType::device, info_.ordinal};
    const cuda::CUmemPoolProps* wanted = &properties;
    cuda::CUmemoryPool made = nullptr;
    relax_while_capturing(call);
    TM_TRY(call.make(driver_->cuMemPoolCreate, &made, wanted));
    pool_ = made;
    return pool_;
}

DeviceResult<Address> CudaDevice::malloc_async(Bytes size, StreamId stream) {
    CudaCall call{*context_, DeviceCall::malloc_async};
    if (size == 0)
        return call.refuse(DeviceStatus::invalid_value, kNoSize);
    TM_ASSIGN(const cuda::CUmemoryPool from, pool(call));
    TM_ASSIGN(const cuda::CUstream native, native_of(call, stream));
    CUdeviceptr pointer = 0;
    TM_TRY(call.make(driver_->cuMemAllocFromPoolAsync, &pointer, size, from, native));
    call.grew();
    return Address{pointer};
}

DeviceResult<void> CudaDevice::free_async(Address address, StreamId stream) {
    CudaCall call{*context_, DeviceCall::free_async};
    if (!info_.memory_pools)
        return call.refuse(DeviceStatus::not_supported, "the device has no memory pools");
    if (address == Address::null)
        return call.refuse(DeviceStatus::invalid_value, "a null address");
    TM_ASSIGN(const cuda::CUstream native, native_of(call, stream));
    return call.make(driver_->cuMemFreeAsync, CUdeviceptr{to_integer(address)}, native);
}

DeviceResult<void> CudaDevice::set_pool_threshold(Bytes threshold) {
    CudaCall call{*context_, DeviceCall::set_pool_threshold};
    TM_ASSIGN(const cuda::CUmemoryPool of, pool(call));
    std::uint64_t value = threshold;
    return call.make(driver_->cuMemPoolSetAttribute, of,
                     cuda::CUmemPool_attribute::release_threshold, static_cast<void*>(&value));
}

DeviceResult<void> CudaDevice::trim_pool(Bytes keep) {
    CudaCall call{*context_, DeviceCall::trim_pool};
    TM_TRY(refuse_while_capturing(call));
    TM_ASSIGN(const cuda::CUmemoryPool of, pool(call));
    return call.make(driver_->cuMemPoolTrimTo, of, keep);
}

Bytes CudaDevice::pool_held() const {
    const CudaCurrent current{*context_};
    const std::lock_guard lock{mutex_};
    std::uint64_t held = 0;
    if (pool_ == nullptr || current.code() != cuda::CUresult::success ||
        driver_->cuMemPoolGetAttribute(pool_, cuda::CUmemPool_attribute::reserved_mem_current,
                                       &held) != cuda::CUresult::success)
        return 0;
    return held;
}

// Host memory.

DeviceResult<Address> CudaDevice::host_malloc(Bytes size) {
    CudaCall call{*context_, DeviceCall::host_malloc};
    if (size == 0)
        return call.refuse(DeviceStatus::invalid_value, kNoSize);
    relax_while_capturing(call);
    void* pointer = nullptr;
    TM_TRY(call.make(driver_->cuMemHostAlloc, &pointer, size, cuda::kHostAllocPortable));
    const Address address{reinterpret_cast<std::uintptr_t>(pointer)};
    const std::lock_guard lock{mutex_};
    host_ranges_[address] = size;
    return address;
}

DeviceResult<void> CudaDevice::host_free(Address address) {
    CudaCall call{*context_, DeviceCall::host_free};
    TM_TRY(refuse_while_capturing(call));
    return give_back_host(call, address, driver_->cuMemFreeHost);
}

DeviceResult<void> CudaDevice::host_register(Range range) {
    CudaCall call{*context_, DeviceCall::host_register};
    if (range.size == 0)
        return call.refuse(DeviceStatus::invalid_value, kNoSize);
    relax_while_capturing(call);
    const auto done = call.make(driver_->cuMemHostRegister_v2, as_pointer(range.begin), range.size,
                                cuda::kHostRegisterPortable);
    if (done) {
        const std::lock_guard lock{mutex_};
        host_ranges_[range.begin] = range.size;
    }
    return done;
}

DeviceResult<void> CudaDevice::host_unregister(Address address) {
    CudaCall call{*context_, DeviceCall::host_unregister};
    TM_TRY(refuse_while_capturing(call));
    return give_back_host(call, address, driver_->cuMemHostUnregister);
}

DeviceResult<void> CudaDevice::give_back_host(CudaCall& call, Address address,
                                              const CudaSymbol<cuda::CUresult(void*)>& function) {
    Bytes size = 0;
    {
        // Out of the table first: once the driver has it back, another thread may get the same.
        const std::lock_guard lock{mutex_};
        const auto found = host_ranges_.find(address);
        if (found == host_ranges_.end())
            return call.refuse(DeviceStatus::invalid_value, "no host memory of this device");
        size = found->second;
        host_ranges_.erase(found);
    }
    const auto done = call.make(function, as_pointer(address));
    if (!done) {
        const std::lock_guard lock{mutex_};
        host_ranges_[address] = size;
    }
    return done;
}

bool CudaDevice::on_host(Address address) const {
    const std::lock_guard lock{mutex_};
    const auto after = host_ranges_.upper_bound(address);
    if (after == host_ranges_.begin())
        return false;
    const auto& [begin, size] = *std::prev(after);
    return address - begin < size;
}

// Other processes.

DeviceResult<IpcHandle> CudaDevice::ipc_export(Address address) {
    CudaCall call{*context_, DeviceCall::ipc_export};
    if (!info_.ipc)
        return call.refuse(DeviceStatus::not_supported, "the device has no IPC");
    relax_while_capturing(call);
    cuda::CUipcMemHandle native{};
    TM_TRY(call.make(driver_->cuIpcGetMemHandle, &native, CUdeviceptr{to_integer(address)}));
    IpcHandle handle;
    static_assert(sizeof handle.bytes == sizeof native.reserved);
    std::memcpy(handle.bytes.data(), native.reserved, sizeof native.reserved);
    return handle;
}

DeviceResult<Address> CudaDevice::ipc_open(const IpcHandle& handle) {
    CudaCall call{*context_, DeviceCall::ipc_open};
    if (!info_.ipc)
        return call.refuse(DeviceStatus::not_supported, "the device has no IPC");
    relax_while_capturing(call);
    cuda::CUipcMemHandle native{};
    std::memcpy(native.reserved, handle.bytes.data(), sizeof native.reserved);
    CUdeviceptr pointer = 0;
    TM_TRY(call.make(driver_->cuIpcOpenMemHandle_v2, &pointer, native,
                     cuda::kIpcLazyEnablePeerAccess));
    return Address{pointer};
}

DeviceResult<void> CudaDevice::ipc_close(Address address) {
    CudaCall call{*context_, DeviceCall::ipc_close};
    if (!info_.ipc)
        return call.refuse(DeviceStatus::not_supported, "the device has no IPC");
    relax_while_capturing(call);
    return call.make(driver_->cuIpcCloseMemHandle, CUdeviceptr{to_integer(address)});
}

DeviceResult<Range> CudaDevice::address_range(Address address) const {
    CudaCall call{*context_, DeviceCall::address_range};
    relax_while_capturing(call);
    CUdeviceptr begin = 0;
    std::size_t size = 0;
    TM_TRY(call.make(driver_->cuMemGetAddressRange_v2, &begin, &size,
                     CUdeviceptr{to_integer(address)}));
    return Range{Address{begin}, size};
}

}  // namespace tidemark
