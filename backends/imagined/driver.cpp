// The driver: virtual memory, contexts, modules, and how its functions are found.
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "backends/imagined/api.h"
#include "backends/imagined/journal.h"
#include "backends/imagined/machine.h"

namespace tidemark::imagined {
namespace {

// A CUcontext of each device: its number, so that none is null.
void* context_of(int device) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(0x900 + device));
}

int device_of_context(void* context) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 0x900;
}

// NVIDIA's own libraries contain the CUDA runtime, which asks the driver for undocumented tables.
// They are told that there is no GPU, and work without one.
bool called_by_nvidia(const void* return_address) {
    Dl_info caller;
    if (dladdr(return_address, &caller) == 0 || caller.dli_fname == nullptr)
        return false;
    const std::string_view file = caller.dli_fname;
    for (const std::string_view name : {"/libcudnn", "/libnvrtc", "/libcublas", "/libnvJitLink"})
        if (file.find(name) != std::string_view::npos)
            return true;
    return false;
}

int fresh_handle(void** out) {
    Lock machine;
    *out = reinterpret_cast<void*>(machine->next_handle++ << 4);
    return kSuccess;
}

// The requested location of an allocation, as far as it matters: CUmemAllocationProp's location.
struct AllocationProperties {
    int type = 0, handle_types = 0;
    int location_type = 0, location_id = 0;
};

void* find_function(const char* name) {
    const std::string own = std::string("imagined_") + name;
    // This library may not be among the global ones: it searches itself.
    static void* const self = [] {
        Dl_info here;
        dladdr(reinterpret_cast<const void*>(&fresh_handle), &here);
        return dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    }();
    // Functions whose arguments have changed are found by the first name, and called by a later
    // one.
    for (const char* version : {"", "_v2", "_v3"})
        if (void* const found = dlsym(self, (own + version).c_str()))
            return found;
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver == nullptr ? nullptr : dlsym(driver, name);
}

int entry_point(const char* name, void** function, int* result) {
    *function = find_function(name);
    if (result != nullptr)
        *result = *function == nullptr ? 1 : 0;  // cudaDriverEntryPointSymbolNotFound
    if (*function == nullptr)
        note_unknown(name, false);
    return kSuccess;
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, cudaGetDriverEntryPoint)

(const char* name, void** function, std::uint64_t, int* result) {
    return entry_point(name, function, result);
}

IMAGINED(int, cudaGetDriverEntryPointByVersion)

(const char* name, void** function, unsigned, std::uint64_t, int* result) {
    return entry_point(name, function, result);
}

IMAGINED(int, cuGetProcAddress_v2)

(const char* name, void** function, int, std::uint64_t, int* result) {
    return entry_point(name, function, result);
}

// A runtime that is linked into an extension: see called_by_nvidia().
IMAGINED(int, cuGetExportTable)(const void** table, const void*) {
    const void* const caller = __builtin_return_address(0);
    Dl_info library;
    if (!called_by_nvidia(caller) && dladdr(caller, &library) != 0 && library.dli_fname != nullptr)
        note_unknown("cuGetExportTable for the CUDA runtime inside " +
                         std::filesystem::path(library.dli_fname).filename().string(),
                     true);
    *table = nullptr;
    return kNotFound;
}

IMAGINED(int, cuInit)(unsigned) {
    return called_by_nvidia(__builtin_return_address(0)) ? kNoDevice : kSuccess;
}

// Contexts.
IMAGINED(int, cuDevicePrimaryCtxGetState)(int, unsigned* flags, int* active) {
    *flags = 0;
    *active = 1;
    return kSuccess;
}

IMAGINED(int, cuDevicePrimaryCtxRetain)(void** context, int device) {
    *context = context_of(device);
    return kSuccess;
}

IMAGINED(int, cuDevicePrimaryCtxRelease_v2)(int) {
    return kSuccess;
}

IMAGINED(int, cuCtxGetCurrent)(void** context) {
    *context = context_of(current_device());
    return kSuccess;
}

IMAGINED(int, cuCtxSetCurrent)(void* context) {
    if (context != nullptr)
        current_device() = device_of_context(context);
    return kSuccess;
}

// Contexts on this thread's stack, as their devices.
namespace {

std::vector<int>& pushed() {
    static thread_local std::vector<int> devices;
    return devices;
}

}  // namespace

IMAGINED(int, cuCtxPushCurrent_v2)(void* context) {
    pushed().push_back(current_device());
    current_device() = device_of_context(context);
    return kSuccess;
}

IMAGINED(int, cuCtxPopCurrent_v2)(void** context) {
    if (context != nullptr)
        *context = context_of(current_device());
    if (!pushed().empty()) {
        current_device() = pushed().back();
        pushed().pop_back();
    }
    return kSuccess;
}

IMAGINED(int, cuCtxGetApiVersion)(void*, unsigned* version) {
    *version = 3020;
    return kSuccess;
}

IMAGINED(int, cuCtxGetDevice)(int* device) {
    *device = current_device();
    return kSuccess;
}

IMAGINED(int, cuCtxSynchronize)() {
    Lock machine;
    static_cast<void>(machine->device(current_device()).synchronize_device());
    return kSuccess;
}

// cudaPointerGetAttributes, by one attribute at a time: 1 context, 2 memory type, 3 and 4 the
// pointer for the device and the host, 8 managed, 9 the device's number.
IMAGINED(int, cuPointerGetAttribute)(void* out, int attribute, Pointer at) {
    Lock machine;
    const std::optional<int> device = machine->device_of(at);
    if (!device && !machine->pinned.contains(at))
        return kInvalidValue;
    switch (attribute) {
        case 1:
            *static_cast<void**>(out) = context_of(device.value_or(0));
            return kSuccess;
        case 2:
            *static_cast<unsigned*>(out) = device ? 2 : 1;
            return kSuccess;
        case 3:
            *static_cast<Pointer*>(out) = at;
            return kSuccess;
        case 8:
            *static_cast<bool*>(out) = false;
            return kSuccess;
        case 9:
            *static_cast<int*>(out) = device.value_or(0);
            return kSuccess;
        default:
            return kNotSupported;
    }
}

// Virtual memory.
IMAGINED(int, cuMemGetAllocationGranularity)(std::size_t* size, const void*, int) {
    *size = tidemark::kDriverPage;
    return kSuccess;
}

IMAGINED(int, cuMemAddressReserve)

(Pointer* out, std::size_t size, std::size_t, Pointer, std::uint64_t) {
    Lock machine;
    const int index = current_device();
    const auto range = machine->device(index).reserve(size);
    *out = range ? machine->to_pointer(index, range->begin) : 0;
    return status_of(range);
}

IMAGINED(int, cuMemAddressFree)(Pointer at, std::size_t size) {
    Lock machine;
    const std::optional<int> device = machine->device_of(at);
    if (!device)
        return kInvalidValue;
    const auto done = machine->device(*device).unreserve({machine->to_address(at), size});
    return status_of(done);
}

IMAGINED(int, cuMemCreate)

(std::uint64_t* out, std::size_t size, const AllocationProperties* wanted, std::uint64_t) {
    constexpr int kFabric = 8;  // needs a service that hosts of one GPU do not run
    if ((wanted->handle_types & kFabric) != 0)
        return kNotPermitted;
    Lock machine;
    const int index = wanted->location_type == 1 ? wanted->location_id : current_device();
    if (index < 0 || index >= machine->gpus())
        return kInvalidDevice;
    const auto made = machine->device(index).create({}, size);
    if (!made)
        return to_status(made.error());
    *out = machine->next_handle++;
    machine->physical[*out] = {*made, index, size};
    return kSuccess;
}

IMAGINED(int, cuMemRelease)(std::uint64_t handle) {
    Lock machine;
    const auto found = machine->physical.find(handle);
    if (found == machine->physical.end())
        return kInvalidValue;
    const auto done = machine->device(found->second.device).release(found->second.id);
    machine->physical.erase(found);
    return status_of(done);
}

IMAGINED(int, cuMemMap)

(Pointer at, std::size_t size, std::size_t, std::uint64_t handle, std::uint64_t) {
    Lock machine;
    const auto found = machine->physical.find(handle);
    const std::optional<int> device = machine->device_of(at);
    if (found == machine->physical.end() || device != found->second.device)
        return kInvalidValue;
    const auto done =
        machine->device(*device).map({machine->to_address(at), size}, found->second.id);
    return status_of(done);
}

IMAGINED(int, cuMemUnmap)(Pointer at, std::size_t size) {
    Lock machine;
    const std::optional<int> device = machine->device_of(at);
    if (!device)
        return kInvalidValue;
    const auto done = machine->device(*device).unmap({machine->to_address(at), size});
    return status_of(done);
}

IMAGINED(int, cuMemSetAccess)(Pointer at, std::size_t size, const void*, std::size_t) {
    Lock machine;
    const std::optional<int> device = machine->device_of(at);
    if (!device)
        return kInvalidValue;
    const auto done = machine->device(*device).set_access({machine->to_address(at), size}, true);
    return status_of(done);
}

// The driver's messages: there are none.
IMAGINED(int, cuLogsRegisterCallback)(void*, void*, void** handle) {
    return fresh_handle(handle);
}

IMAGINED(int, cuLogsUnregisterCallback)(void*) {
    return kSuccess;
}

// Modules: everything that is loaded becomes a handle.
IMAGINED(int, cuModuleLoad)(void** out, const char*) {
    return fresh_handle(out);
}

IMAGINED(int, cuModuleLoadData)(void** out, const void*) {
    return fresh_handle(out);
}

IMAGINED(int, cuModuleLoadDataEx)(void** out, const void*, unsigned, void*, void**) {
    return fresh_handle(out);
}

IMAGINED(int, cuModuleLoadFatBinary)(void** out, const void*) {
    return fresh_handle(out);
}

IMAGINED(int, cuModuleUnload)(void*) {
    return kSuccess;
}

IMAGINED(int, cuModuleGetFunction)(void** out, void*, const char*) {
    return fresh_handle(out);
}

IMAGINED(int, cuLibraryLoadData)

(void** out, const void*, void*, void**, unsigned, void*, void**, unsigned) {
    return fresh_handle(out);
}

IMAGINED(int, cuLibraryUnload)(void*) {
    return kSuccess;
}

IMAGINED(int, cuLibraryGetKernel)(void** out, void*, const char*) {
    return fresh_handle(out);
}

IMAGINED(int, cuLibraryGetModule)(void** out, void*) {
    return fresh_handle(out);
}

IMAGINED(int, cuKernelGetFunction)(void** out, void* kernel) {
    *out = kernel;
    return kSuccess;
}

// Attribute 0 is how many threads a block of the function may have, 4 its registers; the others are
// memory other than registers.
IMAGINED(int, cuFuncGetAttribute)(int* value, int attribute, void*) {
    *value = attribute == 0 ? settings().card.attributes[1] : attribute == 4 ? 32 : 0;
    return kSuccess;
}

IMAGINED(int, cuKernelGetAttribute)(int* value, int attribute, void* kernel, int) {
    return imagined_cuFuncGetAttribute(value, attribute, kernel);
}

IMAGINED(int, cuKernelSetAttribute)(int, int, void*, int) {
    return kSuccess;
}

IMAGINED(int, cuFuncSetAttribute)(void*, int, int) {
    return kSuccess;
}

IMAGINED(int, cuFuncSetCacheConfig)(void*, int) {
    return kSuccess;
}

IMAGINED(int, cuLaunchKernel)

(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void* handle, void**,
 void**) {
    Lock machine;
    machine->run(machine->stream_of(handle, current_device()));
    return kSuccess;
}

namespace {

// CUlaunchConfig.
struct DriverLaunch {
    unsigned grid[3] = {}, block[3] = {};
    unsigned shared = 0;
    void* stream = nullptr;
};

}  // namespace

IMAGINED(int, cuLaunchKernelEx)(const DriverLaunch* config, void*, void**, void**) {
    Lock machine;
    machine->run(machine->stream_of(config->stream, current_device()));
    return kSuccess;
}

IMAGINED(int, cuLaunchCooperativeKernel)

(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void* handle,
 void**) {
    Lock machine;
    machine->run(machine->stream_of(handle, current_device()));
    return kSuccess;
}

IMAGINED(int, cuTensorMapEncodeTiled)

(void* map, int, unsigned, void*, const void*, const void*, const void*, const void*, int, int, int,
 int) {
    std::memset(map, 0, 128);
    return kSuccess;
}
