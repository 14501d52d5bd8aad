// NVML: what programs ask the driver's monitor about, before they use CUDA or besides it.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "backends/imagined/api.h"
#include "backends/imagined/machine.h"

// Defined with the driver's queries about devices.
extern "C" int imagined_cuDeviceGetUuid(char* to, int device);

namespace tidemark::imagined {
namespace {

// Of nvmlReturn_t.
constexpr int kInvalidArgument = 2, kNotSupportedNvml = 3, kNotFoundNvml = 6, kTooSmall = 7;

struct NvmlMemory {
    std::uint64_t total, free, used;
};

struct NvmlMemory2 {
    unsigned version;
    std::uint64_t total, reserved, free, used;
};

struct NvmlPci {
    std::array<char, 16> legacy;
    unsigned domain, bus, device, id, subsystem;
    std::array<char, 32> text;
};

struct NvmlUtilization {
    unsigned gpu, memory;
};

// A handle is the device's number plus one.
int to_device(const void* handle) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(handle)) - 1;
}

int find(std::optional<unsigned> device, void** handle) {
    if (!device || *device >= static_cast<unsigned>(settings().gpus))
        return kNotFoundNvml;
    *handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(*device) + 1);
    return kSuccess;
}

int write_text(const std::string& text, char* to, unsigned size) {
    if (text.size() >= size)
        return kTooSmall;
    std::memcpy(to, text.c_str(), text.size() + 1);
    return kSuccess;
}

std::string uuid_text(int device) {
    std::array<char, 16> bytes{};
    imagined_cuDeviceGetUuid(bytes.data(), device);
    std::string text = "GPU";
    for (std::size_t index = 0; index < bytes.size(); ++index) {
        std::array<char, 4> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x",
                      static_cast<unsigned>(static_cast<unsigned char>(bytes.at(index))));
        const bool part = index == 0 || (index >= 4 && index <= 10 && index % 2 == 0);
        text += (part ? "-" : "") + std::string(digits.data());
    }
    return text;
}

NvmlMemory memory_of(const void* handle) {
    Lock machine;
    const MemoryInfo memory = machine->device(to_device(handle)).memory();
    return {memory.total, memory.free, memory.total - memory.free};
}

int attribute_of(int which) {
    return settings().card.attributes.at(static_cast<std::size_t>(which));
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, nvmlInit_v2)() {
    return kSuccess;
}

SAME_OF_DRIVER(nvmlInit, nvmlInit_v2);
SAME_OF_DRIVER(nvmlShutdown, nvmlInit_v2);

IMAGINED(int, nvmlInitWithFlags)(unsigned) {
    return kSuccess;
}

IMAGINED(const char*, nvmlErrorString)(int status) {
    return status == 0 ? "Success" : "Not supported by the imagined GPU";
}

IMAGINED(int, nvmlSystemGetDriverVersion)(char* to, unsigned size) {
    return write_text("580.65.06", to, size);  // the first that has CUDA 13
}

IMAGINED(int, nvmlSystemGetNVMLVersion)(char* to, unsigned size) {
    return write_text("13.580.65.06", to, size);
}

IMAGINED(int, nvmlSystemGetCudaDriverVersion_v2)(int* version) {
    *version = settings().cuda;
    return kSuccess;
}

SAME_OF_DRIVER(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2);

IMAGINED(int, nvmlDeviceGetCount_v2)(unsigned* count) {
    *count = static_cast<unsigned>(settings().gpus);
    return kSuccess;
}

SAME_OF_DRIVER(nvmlDeviceGetCount, nvmlDeviceGetCount_v2);

IMAGINED(int, nvmlDeviceGetHandleByIndex_v2)(unsigned index, void** handle) {
    return find(index, handle);
}

SAME_OF_DRIVER(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);

IMAGINED(int, nvmlDeviceGetHandleByUUID)(const char* uuid, void** handle) {
    for (int device = 0; device < settings().gpus; ++device)
        if (uuid_text(device) == uuid)
            return find(static_cast<unsigned>(device), handle);
    return kNotFoundNvml;
}

IMAGINED(int, nvmlDeviceGetHandleByPciBusId_v2)(const char* text, void** handle) {
    unsigned domain = 0, bus = 0;
    const bool read = std::sscanf(text, "%x:%x", &domain, &bus) == 2;
    return find(read ? std::optional(bus - unsigned{kFirstBus}) : std::nullopt, handle);
}

IMAGINED(int, nvmlDeviceGetIndex)(const void* handle, unsigned* index) {
    *index = static_cast<unsigned>(to_device(handle));
    return kSuccess;
}

IMAGINED(int, nvmlDeviceGetName)(const void*, char* to, unsigned size) {
    return write_text(settings().card.name, to, size);
}

IMAGINED(int, nvmlDeviceGetUUID)(const void* handle, char* to, unsigned size) {
    return write_text(uuid_text(to_device(handle)), to, size);
}

IMAGINED(int, nvmlDeviceGetPciInfo_v3)(const void* handle, NvmlPci* pci) {
    const unsigned bus = static_cast<unsigned>(to_device(handle) + kFirstBus);
    *pci = {{}, 0, bus, 0, 0, 0, {}};
    std::snprintf(pci->legacy.data(), pci->legacy.size(), "0000:%02X:00.0", bus);
    std::snprintf(pci->text.data(), pci->text.size(), "00000000:%02X:00.0", bus);
    return kSuccess;
}

IMAGINED(int, nvmlDeviceGetCudaComputeCapability)(const void*, int* major, int* minor) {
    *major = attribute_of(75);
    *minor = attribute_of(76);
    return kSuccess;
}

IMAGINED(int, nvmlDeviceGetMemoryInfo)(const void* handle, NvmlMemory* memory) {
    *memory = memory_of(handle);
    return kSuccess;
}

IMAGINED(int, nvmlDeviceGetMemoryInfo_v2)(const void* handle, NvmlMemory2* memory) {
    const NvmlMemory found = memory_of(handle);
    *memory = {memory->version, found.total, 0, found.free, found.used};
    return kSuccess;
}

IMAGINED(int, nvmlDeviceGetUtilizationRates)(const void*, NvmlUtilization* rates) {
    *rates = {0, 0};
    return kSuccess;
}

// Nobody is listed: the answer to the question who else takes memory is "none".
IMAGINED(int, nvmlDeviceGetComputeRunningProcesses)(const void*, unsigned* count, void*) {
    if (count == nullptr)
        return kInvalidArgument;
    *count = 0;
    return kSuccess;
}

SAME_OF_DRIVER(nvmlDeviceGetComputeRunningProcesses_v2, nvmlDeviceGetComputeRunningProcesses);
SAME_OF_DRIVER(nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetComputeRunningProcesses);

IMAGINED(int, nvmlDeviceGetP2PStatus)(const void*, const void*, int, int* status) {
    *status = 0;  // every pair
    return kSuccess;
}

IMAGINED(int, nvmlDeviceGetNvLinkRemoteDeviceType)() {
    return kNotSupportedNvml;
}

SAME_OF_DRIVER(nvmlDeviceGetNvLinkRemotePciInfo_v2, nvmlDeviceGetNvLinkRemoteDeviceType);
SAME_OF_DRIVER(nvmlDeviceGetGpuFabricInfoV, nvmlDeviceGetNvLinkRemoteDeviceType);
