// The CUDA devices of this computer and what each can do: read from the driver without making a
// context, so that it costs a device no memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/driver.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

struct CudaDeviceInfo {
    int ordinal = 0;          // the driver's number for it, after CUDA_VISIBLE_DEVICES
    std::string name;         // "NVIDIA H200"
    std::string uuid;         // "GPU-5a1b...": the same in every process; empty if unknown
    std::string pci_address;  // "0000:1b:00.0"
    Bytes total_memory = 0;
    int compute_major = 0;
    int compute_minor = 0;
    int multiprocessors = 0;
    int numa_node = -1;  // of the host, next to the device; -1 if the driver does not report it

    // What Tidemark can use. Each needs the driver's functions as well as the device.
    bool virtual_memory = false;
    Bytes granularity = 0;          // of physical memory and mappings; 0 without virtual memory
    bool memory_pools = false;      // stream-ordered memory
    bool posix_handles = false;     // physical memory as a file descriptor
    bool fabric_handles = false;    // physical memory for other nodes
    bool host_numa_memory = false;  // physical memory on a host's NUMA node
    bool ipc = false;               // plain memory for other processes
    bool graphs = false;
    bool batch_copies = false;
    bool integrated = false;  // shares the host's memory

    std::vector<int> peers;  // ordinals of devices with memory within its reach
};

// One device. Errors: not_found for an ordinal that does not exist, driver if the driver refuses.
Result<CudaDeviceInfo> cuda_device_info(const CudaDriver& driver, int ordinal);

// All devices, by ordinal; an empty list if there are none. O(devices^2) driver calls.
Result<std::vector<CudaDeviceInfo>> cuda_devices(const CudaDriver& driver);

}  // namespace tidemark
