// The CUDA driver's binary interface as far as Tidemark uses it: our own declarations, so that no
// toolkit is needed to build. Types keep the driver's names; their layouts, sizes and numbers are
// those of its documented ABI (CUDA 12.0 and later, 64-bit Linux), which does not change under a
// versioned symbol name. The functions are listed in driver_symbols.inc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidemark::cuda {

// Handles. Each is its own pointer type, so that a stream is not passed instead of an event.
using CUcontext = struct CUctx*;
using CUstream = struct CUstreamObject*;
using CUevent = struct CUeventObject*;
using CUmodule = struct CUmoduleObject*;
using CUfunction = struct CUfunctionObject*;
using CUgraph = struct CUgraphObject*;
using CUgraphNode = struct CUgraphNodeObject*;
using CUgraphExec = struct CUgraphExecObject*;
using CUmemoryPool = struct CUmemoryPoolObject*;

using CUdevice = int;                       // an ordinal is not a device until cuDeviceGet
using CUdeviceptr = unsigned long long;     // an address in the space that all devices share
using CUmemHandle = unsigned long long;     // CUmemGenericAllocationHandle
using CUhostFn = void (*)(void* argument);  // runs on a driver's thread; may call no CUDA

// The result of every function. Only the codes that Tidemark distinguishes have a name here; the
// driver itself names the others (cuGetErrorName).
enum class CUresult : int {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    deinitialized = 4,
    stub_library = 34,
    no_device = 100,
    invalid_device = 101,
    invalid_context = 201,
    map_failed = 205,
    unmap_failed = 206,
    already_mapped = 208,
    no_binary_for_gpu = 209,
    not_mapped = 211,
    ecc_uncorrectable = 214,
    unsupported_limit = 215,
    peer_access_unsupported = 217,
    invalid_ptx = 218,
    nvlink_uncorrectable = 220,
    jit_compiler_not_found = 221,
    unsupported_ptx_version = 222,
    jit_compilation_disabled = 223,
    contained = 226,
    operating_system = 304,
    invalid_handle = 400,
    illegal_state = 401,
    not_found = 500,
    not_ready = 600,
    illegal_address = 700,
    launch_out_of_resources = 701,
    launch_timeout = 702,
    peer_access_already_enabled = 704,
    peer_access_not_enabled = 705,
    context_is_destroyed = 709,
    assert_failed = 710,
    too_many_peers = 711,
    host_memory_already_registered = 712,
    host_memory_not_registered = 713,
    hardware_stack_error = 714,
    illegal_instruction = 715,
    misaligned_address = 716,
    invalid_address_space = 717,
    invalid_pc = 718,
    launch_failed = 719,
    tensor_memory_leak = 721,
    not_permitted = 800,
    not_supported = 801,
    system_driver_mismatch = 803,
    mps_client_terminated = 810,
    stream_capture_unsupported = 900,
    stream_capture_invalidated = 901,
    stream_capture_merge = 902,
    stream_capture_unmatched = 903,
    stream_capture_unjoined = 904,
    stream_capture_isolation = 905,
    stream_capture_implicit = 906,
    captured_event = 907,
    stream_capture_wrong_thread = 908,
    unknown = 999,
};

// CU_DEVICE_ATTRIBUTE_*
enum class CUdevice_attribute : int {
    multiprocessor_count = 16,
    integrated = 18,
    pci_bus_id = 33,
    pci_device_id = 34,
    unified_addressing = 41,
    pci_domain_id = 50,
    compute_capability_major = 75,
    compute_capability_minor = 76,
    virtual_memory_management_supported = 102,
    posix_file_descriptor_supported = 103,
    memory_pools_supported = 115,
    mempool_supported_handle_types = 119,
    ipc_event_supported = 125,
    fabric_supported = 128,
    host_numa_id = 134,
    host_numa_virtual_memory_management_supported = 141,
};

enum class CUmemLocationType : int { none = 0, device = 1, host = 2, host_numa = 3 };
enum class CUmemAllocationType : int { pinned = 1 };
enum class CUmemAllocationHandleType : int { none = 0, posix_file_descriptor = 1, fabric = 8 };
enum class CUmemAccess_flags : int { none = 0, read = 1, read_write = 3 };
enum class CUmemAllocationGranularity_flags : int { minimum = 0, recommended = 1 };

// CU_MEMPOOL_ATTR_*: the first three are int, the others cuuint64_t.
enum class CUmemPool_attribute : int {
    reuse_follow_event_dependencies = 1,
    reuse_allow_opportunistic = 2,
    reuse_allow_internal_dependencies = 3,
    release_threshold = 4,
    reserved_mem_current = 5,
    reserved_mem_high = 6,
    used_mem_current = 7,
    used_mem_high = 8,
};

// CU_GRAPH_MEM_ATTR_*: cuuint64_t each; what the allocations of graphs hold on a device.
enum class CUgraphMem_attribute : int {
    used_mem_current = 0,
    used_mem_high = 1,
    reserved_mem_current = 2,
    reserved_mem_high = 3,
};

enum class CUstreamCaptureMode : int { global = 0, thread_local_mode = 1, relaxed = 2 };
enum class CUstreamCaptureStatus : int { none = 0, active = 1, invalidated = 2 };
enum class CUmemcpySrcAccessOrder : int { stream = 1, during_api_call = 2, any = 3 };

constexpr unsigned kStreamNonBlocking = 1;           // CU_STREAM_NON_BLOCKING
constexpr unsigned kEventDisableTiming = 2;          // CU_EVENT_DISABLE_TIMING
constexpr unsigned kHostAllocPortable = 1;           // CU_MEMHOSTALLOC_PORTABLE
constexpr unsigned kHostRegisterPortable = 1;        // CU_MEMHOSTREGISTER_PORTABLE
constexpr unsigned kIpcLazyEnablePeerAccess = 1;     // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
constexpr unsigned long long kAutoFreeOnLaunch = 1;  // CUDA_GRAPH_INSTANTIATE_FLAG_...

struct CUuuid {
    unsigned char bytes[16];
};

struct CUmemLocation {
    CUmemLocationType type = CUmemLocationType::none;
    int id = 0;  // a device's ordinal, or a NUMA node
};

struct CUmemAllocationFlags {
    unsigned char compression_type = 0;
    unsigned char gpu_direct_rdma_capable = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
};

struct CUmemAllocationProp {
    CUmemAllocationType type = CUmemAllocationType::pinned;
    CUmemAllocationHandleType requested_handle_types = CUmemAllocationHandleType::none;
    CUmemLocation location;
    void* win32_handle_meta_data = nullptr;
    CUmemAllocationFlags flags;
};

struct CUmemAccessDesc {
    CUmemLocation location;
    CUmemAccess_flags flags = CUmemAccess_flags::none;
};

struct CUmemPoolProps {
    CUmemAllocationType type = CUmemAllocationType::pinned;
    CUmemAllocationHandleType handle_types = CUmemAllocationHandleType::none;
    CUmemLocation location;
    void* win32_security_attributes = nullptr;
    std::size_t max_size = 0;  // 0: no limit but the device's
    unsigned short usage = 0;
    unsigned char reserved[54] = {};
};

struct CUmemcpyAttributes {
    CUmemcpySrcAccessOrder source_access_order = CUmemcpySrcAccessOrder::stream;
    CUmemLocation source_hint;
    CUmemLocation target_hint;
    unsigned flags = 0;
};

struct CUipcMemHandle {
    char reserved[64];
};

static_assert(sizeof(CUuuid) == 16);
static_assert(sizeof(CUmemLocation) == 8);
static_assert(sizeof(CUmemAllocationFlags) == 8);
static_assert(sizeof(CUmemAllocationProp) == 32);
static_assert(offsetof(CUmemAllocationProp, location) == 8);
static_assert(offsetof(CUmemAllocationProp, win32_handle_meta_data) == 16);
static_assert(offsetof(CUmemAllocationProp, flags) == 24);
static_assert(sizeof(CUmemAccessDesc) == 12);
static_assert(sizeof(CUmemPoolProps) == 88);
static_assert(offsetof(CUmemPoolProps, win32_security_attributes) == 16);
static_assert(offsetof(CUmemPoolProps, max_size) == 24);
static_assert(offsetof(CUmemPoolProps, usage) == 32);
static_assert(sizeof(CUmemcpyAttributes) == 24);
static_assert(sizeof(CUipcMemHandle) == 64);

}  // namespace tidemark::cuda
