// Reads what each device is and can do.
#include "backends/cuda/cuda_info.h"

#include <array>

#include <fmt/format.h>

#include "backends/cuda/errors.h"

namespace tidemark {
namespace {

using cuda::CUdevice_attribute;
using cuda::CUresult;

// An attribute; 0 if the driver does not know it.
int attribute(const CudaDriver& driver, CUdevice_attribute name, cuda::CUdevice device) {
    int value = 0;
    return driver.cuDeviceGetAttribute(&value, name, device) == CUresult::success ? value : 0;
}

std::string uuid_text(const CudaDriver& driver, cuda::CUdevice device) {
    cuda::CUuuid uuid{};
    if (driver.cuDeviceGetUuid_v2(&uuid, device) != CUresult::success)
        return "";
    std::string text = "GPU";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        const bool group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        text += fmt::format("{}{:02x}", group ? "-" : "", uuid.bytes[i]);
    }
    return text;
}

// The smallest piece of physical memory; 0 if the device has no virtual memory management.
Bytes granularity(const CudaDriver& driver, int ordinal) {
    cuda::CUmemAllocationProp properties;
    properties.location = {cuda::CUmemLocationType::device, ordinal};
    std::size_t size = 0;
    const CUresult code = driver.cuMemGetAllocationGranularity(
        &size, &properties, cuda::CUmemAllocationGranularity_flags::minimum);
    return code == CUresult::success ? size : 0;
}

std::vector<int> peers(const CudaDriver& driver, int ordinal, cuda::CUdevice device) {
    std::vector<int> list;
    const int count = driver.device_count();
    for (int other = 0; other < count; ++other) {
        cuda::CUdevice there = 0;
        int reaches = 0;
        if (other != ordinal && driver.cuDeviceGet(&there, other) == CUresult::success &&
            driver.cuDeviceCanAccessPeer(&reaches, device, there) == CUresult::success &&
            reaches != 0)
            list.push_back(other);
    }
    return list;
}

void read_abilities(const CudaDriver& driver, cuda::CUdevice device, CudaDeviceInfo& info) {
    const auto has = [&](CUdevice_attribute name) { return attribute(driver, name, device) != 0; };
    info.granularity = granularity(driver, info.ordinal);
    info.virtual_memory = has(CUdevice_attribute::virtual_memory_management_supported) &&
                          info.granularity != 0 && driver.cuMemAddressReserve &&
                          driver.cuMemAddressFree && driver.cuMemCreate && driver.cuMemRelease &&
                          driver.cuMemMap && driver.cuMemUnmap && driver.cuMemSetAccess;
    info.memory_pools = has(CUdevice_attribute::memory_pools_supported) && driver.cuMemPoolCreate &&
                        driver.cuMemPoolSetAttribute && driver.cuMemPoolTrimTo &&
                        driver.cuMemAllocFromPoolAsync && driver.cuMemFreeAsync;
    info.posix_handles =
        info.virtual_memory && has(CUdevice_attribute::posix_file_descriptor_supported);
    info.fabric_handles = info.virtual_memory && has(CUdevice_attribute::fabric_supported);
    info.host_numa_memory = info.virtual_memory &&
                            has(CUdevice_attribute::host_numa_virtual_memory_management_supported);
    info.ipc = has(CUdevice_attribute::ipc_event_supported) && driver.cuIpcGetMemHandle &&
               driver.cuIpcOpenMemHandle_v2 && driver.cuIpcCloseMemHandle;
    info.graphs = driver.cuStreamIsCapturing && driver.cuStreamBeginCapture_v2 &&
                  driver.cuStreamEndCapture && driver.cuGraphInstantiateWithFlags &&
                  driver.cuGraphLaunch && driver.cuGraphExecDestroy && driver.cuGraphDestroy;
    info.batch_copies = driver.cuMemcpyBatchAsync_v2 || driver.cuMemcpyBatchAsync;
    info.integrated = has(CUdevice_attribute::integrated);
}

}  // namespace

Result<CudaDeviceInfo> cuda_device_info(const CudaDriver& driver, int ordinal) {
    const std::string where = fmt::format("cuda:{}", ordinal);
    const int count = driver.device_count();
    if (ordinal < 0 || ordinal >= count)
        return fail(ErrorCode::not_found, fmt::format("no such device: there are {}", count), where,
                    "`tidemark devices` lists them; CUDA_VISIBLE_DEVICES chooses");
    CudaDeviceInfo info;
    info.ordinal = ordinal;
    cuda::CUdevice device = 0;
    std::array<char, 256> name{};
    std::size_t total = 0;
    const char* function = driver.cuDeviceGet.name();
    CUresult code = driver.cuDeviceGet(&device, ordinal);
    if (code == CUresult::success) {
        function = driver.cuDeviceGetName.name();
        code = driver.cuDeviceGetName(name.data(), static_cast<int>(name.size() - 1), device);
    }
    if (code == CUresult::success) {
        function = driver.cuDeviceTotalMem_v2.name();
        code = driver.cuDeviceTotalMem_v2(&total, device);
    }
    if (code != CUresult::success)
        return fail(ErrorCode::driver,
                    fmt::format("{} says {} ({}): {}", function, driver.error_name(code),
                                static_cast<int>(code), driver.error_text(code)),
                    where, std::string{hint_for(code)});
    const auto value = [&](CUdevice_attribute of) { return attribute(driver, of, device); };
    info.name = name.data();
    info.uuid = uuid_text(driver, device);
    info.pci_address = fmt::format(
        "{:04x}:{:02x}:{:02x}.0", value(CUdevice_attribute::pci_domain_id),
        value(CUdevice_attribute::pci_bus_id), value(CUdevice_attribute::pci_device_id));
    info.total_memory = total;
    info.compute_major = value(CUdevice_attribute::compute_capability_major);
    info.compute_minor = value(CUdevice_attribute::compute_capability_minor);
    info.multiprocessors = value(CUdevice_attribute::multiprocessor_count);
    int node = -1;
    if (driver.cuDeviceGetAttribute(&node, CUdevice_attribute::host_numa_id, device) ==
        CUresult::success)
        info.numa_node = node;
    read_abilities(driver, device, info);
    info.peers = peers(driver, ordinal, device);
    return info;
}

Result<std::vector<CudaDeviceInfo>> cuda_devices(const CudaDriver& driver) {
    std::vector<CudaDeviceInfo> list;
    const int count = driver.device_count();
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        TM_ASSIGN(CudaDeviceInfo info, cuda_device_info(driver, ordinal));
        list.push_back(std::move(info));
    }
    return list;
}

}  // namespace tidemark
