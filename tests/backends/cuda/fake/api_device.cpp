// The fake driver's calls: what is here, and what its codes mean.
#include <algorithm>
#include <cstring>
#include <string>

#include "tests/backends/cuda/fake/fake_call.h"

namespace tidemark::cuda {

using fake::call;
using fake::Config;
using fake::kNothing;
using fake::kStarted;
using fake::state;

namespace {

struct CodeName {
    CUresult code;
    const char* name;
    const char* text;
};

// Those that the fake gives by itself, and those that tests make it give.
constexpr CodeName kNames[] = {
    {CUresult::success, "CUDA_SUCCESS", "no error"},
    {CUresult::invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUresult::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUresult::not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUresult::no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUresult::invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUresult::invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUresult::invalid_ptx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUresult::ecc_uncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE",
     "uncorrectable ECC error encountered"},
    {CUresult::operating_system, "CUDA_ERROR_OPERATING_SYSTEM",
     "OS call failed or operation not supported on this OS"},
    {CUresult::invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUresult::illegal_state, "CUDA_ERROR_ILLEGAL_STATE",
     "the operation cannot be performed in the present state"},
    {CUresult::not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUresult::not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUresult::illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUresult::peer_access_already_enabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUresult::peer_access_unsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {CUresult::context_is_destroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUresult::host_memory_already_registered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {CUresult::host_memory_not_registered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {CUresult::launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUresult::not_permitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUresult::not_supported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUresult::stream_capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUresult::stream_capture_invalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CUresult::stream_capture_merge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {CUresult::stream_capture_unmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {CUresult::stream_capture_unjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capturing stream has unjoined work"},
    {CUresult::stream_capture_isolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {CUresult::stream_capture_implicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {CUresult::captured_event, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {CUresult::stream_capture_wrong_thread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {CUresult::unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const CodeName* find_name(CUresult code) {
    const auto* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                           [&](const CodeName& each) { return each.code == code; });
    return found == std::end(kNames) ? nullptr : found;
}

// An H200's words, so that what reads them is on known ground.
int attribute(CUdevice_attribute what, int device) {
    const Config& config = state().config;
    switch (what) {
        case CUdevice_attribute::multiprocessor_count:
            return 132;
        case CUdevice_attribute::integrated:
        case CUdevice_attribute::pci_domain_id:
        case CUdevice_attribute::pci_device_id:
        case CUdevice_attribute::fabric_supported:
        case CUdevice_attribute::host_numa_id:
            return 0;
        case CUdevice_attribute::pci_bus_id:
            return 0x10 + device;
        case CUdevice_attribute::unified_addressing:
            return 1;
        case CUdevice_attribute::compute_capability_major:
            return 9;
        case CUdevice_attribute::compute_capability_minor:
            return 0;
        case CUdevice_attribute::virtual_memory_management_supported:
        case CUdevice_attribute::host_numa_virtual_memory_management_supported:
            return static_cast<int>(config.vmm);
        case CUdevice_attribute::posix_file_descriptor_supported:
            return static_cast<int>(config.vmm & config.ipc);
        case CUdevice_attribute::memory_pools_supported:
        case CUdevice_attribute::mempool_supported_handle_types:
            return static_cast<int>(config.pools);
        case CUdevice_attribute::ipc_event_supported:
            return static_cast<int>(config.ipc);
    }
    return -1;
}

}  // namespace

CUresult cuInit(unsigned flags) {
    return call("cuInit", kNothing, [&] {
        if (flags != 0)
            return CUresult::invalid_value;
        if (state().devices.empty())
            return CUresult::no_device;
        state().started = true;
        return CUresult::success;
    });
}

CUresult cuDriverGetVersion(int* version) {
    return call("cuDriverGetVersion", kNothing, [&] {
        *version = static_cast<int>(state().config.driver_version);
        return CUresult::success;
    });
}

CUresult cuGetErrorName(CUresult code, const char** name) {
    const CodeName* const found = find_name(code);
    *name = found == nullptr ? nullptr : found->name;
    return found == nullptr ? CUresult::invalid_value : CUresult::success;
}

CUresult cuGetErrorString(CUresult code, const char** text) {
    const CodeName* const found = find_name(code);
    *text = found == nullptr ? nullptr : found->text;
    return found == nullptr ? CUresult::invalid_value : CUresult::success;
}

CUresult cuDeviceGetCount(int* count) {
    return call("cuDeviceGetCount", kStarted, [&] {
        *count = static_cast<int>(state().devices.size());
        return CUresult::success;
    });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    return call("cuDeviceGet", kStarted, [&] {
        if (!state().has_device(ordinal))
            return CUresult::invalid_device;
        *device = ordinal;
        return CUresult::success;
    });
}

CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
    return call("cuDeviceGetName", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        if (size <= 0)
            return CUresult::invalid_value;
        const std::string text = "Fake H" + std::to_string(200 + device);
        std::strncpy(name, text.c_str(), static_cast<std::size_t>(size));
        name[size - 1] = '\0';
        return CUresult::success;
    });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    return call("cuDeviceGetUuid_v2", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        for (std::size_t i = 0; i < sizeof uuid->bytes; ++i)
            uuid->bytes[i] = static_cast<unsigned char>(i * 16 + static_cast<unsigned>(device));
        return CUresult::success;
    });
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
    return call("cuDeviceTotalMem_v2", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        *bytes = state().config.memory;
        return CUresult::success;
    });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute what, CUdevice device) {
    return call("cuDeviceGetAttribute", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        const int known = attribute(what, device);
        if (known < 0)
            return CUresult::invalid_value;
        *value = known;
        return CUresult::success;
    });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    return call("cuDeviceCanAccessPeer", kStarted, [&] {
        if (!state().has_device(device) || !state().has_device(peer))
            return CUresult::invalid_device;
        *can = device != peer && state().config.peers != 0 ? 1 : 0;
        return CUresult::success;
    });
}

}  // namespace tidemark::cuda
