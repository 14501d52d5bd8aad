// The runtime's devices: how many, which one, what they are.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "backends/imagined/api.h"
#include "backends/imagined/machine.h"

namespace tidemark::imagined {
namespace {

// Where cudaDeviceProp of a CUDA version has a field, and which attribute has its value. Read from
// the headers of CUDA 12.8 and 13.0; the names of the fields are next to them.
struct Field {
    int at12, at13, bytes, attribute;
};

constexpr Field kFields[] = {
    {296, 296, 8, 8},    // sharedMemPerBlock
    {304, 304, 4, 12},   // regsPerBlock
    {308, 308, 4, 10},   // warpSize
    {312, 312, 8, 11},   // memPitch
    {320, 320, 4, 1},    // maxThreadsPerBlock
    {324, 324, 4, 2},    // maxThreadsDim
    {328, 328, 4, 3},    //
    {332, 332, 4, 4},    //
    {336, 336, 4, 5},    // maxGridSize
    {340, 340, 4, 6},    //
    {344, 344, 4, 7},    //
    {352, 352, 8, 9},    // totalConstMem
    {360, 360, 4, 75},   // major
    {364, 364, 4, 76},   // minor
    {368, 368, 8, 14},   // textureAlignment
    {376, 376, 8, 51},   // texturePitchAlignment
    {388, 384, 4, 16},   // multiProcessorCount
    {396, 388, 4, 18},   // integrated
    {400, 392, 4, 19},   // canMapHostMemory
    {568, 552, 8, 30},   // surfaceAlignment
    {576, 560, 4, 31},   // concurrentKernels
    {580, 564, 4, 32},   // ECCEnabled
    {584, 568, 4, 33},   // pciBusID
    {588, 572, 4, 34},   // pciDeviceID
    {592, 576, 4, 50},   // pciDomainID
    {600, 584, 4, 40},   // asyncEngineCount
    {604, 588, 4, 41},   // unifiedAddressing
    {612, 592, 4, 37},   // memoryBusWidth
    {616, 596, 4, 38},   // l2CacheSize
    {620, 600, 4, 108},  // persistingL2CacheMaxSize
    {624, 604, 4, 39},   // maxThreadsPerMultiProcessor
    {628, 608, 4, 78},   // streamPrioritiesSupported
    {632, 612, 4, 79},   // globalL1CacheSupported
    {636, 616, 4, 80},   // localL1CacheSupported
    {640, 624, 8, 81},   // sharedMemPerMultiprocessor
    {648, 632, 4, 82},   // regsPerMultiprocessor
    {652, 636, 4, 83},   // managedMemory
    {664, 648, 4, 86},   // hostNativeAtomicSupported
    {672, 652, 4, 88},   // pageableMemoryAccess
    {676, 656, 4, 89},   // concurrentManagedAccess
    {680, 660, 4, 90},   // computePreemptionSupported
    {684, 664, 4, 91},   // canUseHostPointerForRegisteredMem
    {688, 668, 4, 95},   // cooperativeLaunch
    {696, 672, 8, 97},   // sharedMemPerBlockOptin
    {708, 684, 4, 101},  // directManagedMemAccessFromHost
    {712, 688, 4, 106},  // maxBlocksPerMultiProcessor
    {716, 692, 4, 109},  // accessPolicyMaxWindowSize
    {720, 696, 8, 111},  // reservedSharedMemPerBlock
    {728, 704, 4, 99},   // hostRegisterSupported
    {744, 720, 4, 115},  // memoryPoolsSupported
    {748, 724, 4, 116},  // gpuDirectRDMASupported
    {768, 744, 4, 125},  // ipcEventSupported
    {772, 748, 4, 120},  // clusterLaunch
    {776, 752, 4, 129},  // unifiedFunctionPointers
};

constexpr std::size_t kSize12 = 1032, kSize13 = 1008;
constexpr std::size_t kNameSize = 256, kUuid = 256, kTotalMemory = 288;

int attribute(int which, int device) {
    constexpr int kPciBus = 33;  // the only one that differs between devices
    if (which == kPciBus)
        return kFirstBus + device;
    const auto& all = settings().card.attributes;
    return which >= 0 && which < Card::kAttributes ? all[static_cast<std::size_t>(which)] : 0;
}

// The program sees the same identity for the same device in every process.
void write_uuid(char* to, int device) {
    constexpr char kUuidText[] = "imagined-card-00";
    std::memcpy(to, kUuidText, 16);
    to[15] = static_cast<char>('0' + device);
}

int describe(char* to, int device, bool as13) {
    if (device < 0 || device >= settings().gpus)
        return kInvalidDevice;
    std::memset(to, 0, as13 ? kSize13 : kSize12);
    std::snprintf(to, kNameSize, "%s", settings().card.name.c_str());
    write_uuid(to + kUuid, device);
    std::memcpy(to + kTotalMemory, &settings().card.memory, 8);
    for (const Field& field : kFields) {
        const std::int64_t value = attribute(field.attribute, device);
        std::memcpy(to + (as13 ? field.at13 : field.at12), &value,
                    static_cast<std::size_t>(field.bytes));
    }
    return kSuccess;
}

int choose(int device) {
    if (device < 0 || device >= settings().gpus)
        return kInvalidDevice;
    current_device() = device;
    return kSuccess;
}

const char* name_of(int status) {
    switch (status) {
        case kSuccess:
            return "cudaSuccess";
        case kInvalidValue:
            return "cudaErrorInvalidValue";
        case kOutOfMemory:
            return "cudaErrorMemoryAllocation";
        case kInvalidDevice:
            return "cudaErrorInvalidDevice";
        case kNotReady:
            return "cudaErrorNotReady";
        case kNotSupported:
            return "cudaErrorNotSupported";
        default:
            return "cudaErrorUnknown";
    }
}

const char* text_of(int status) {
    switch (status) {
        case kSuccess:
            return "no error";
        case kInvalidValue:
            return "invalid argument";
        case kOutOfMemory:
            return "out of memory";
        case kInvalidDevice:
            return "invalid device ordinal";
        case kNotReady:
            return "device not ready";
        case kNotSupported:
            return "operation not supported on the imagined GPU";
        default:
            return "unknown error";
    }
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, cudaGetDeviceCount)(int* count) {
    *count = settings().gpus;
    return kSuccess;
}

IMAGINED(int, cudaGetDevice)(int* device) {
    *device = current_device();
    return kSuccess;
}

IMAGINED(int, cudaSetDevice)(int device) {
    return report(choose(device));
}

IMAGINED(int, cudaSetDeviceFlags)(unsigned) {
    return kSuccess;
}

IMAGINED(int, cudaDriverGetVersion)(int* version) {
    *version = settings().cuda;
    return kSuccess;
}

IMAGINED(int, cudaRuntimeGetVersion)(int* version) {
    *version = settings().cuda;
    return kSuccess;
}

IMAGINED(int, cudaDeviceGetAttribute)(int* value, int which, int device) {
    *value = attribute(which, device);
    return kSuccess;
}

// CUDA 13 has one cudaGetDeviceProperties; programs of CUDA 12 call it _v2.
IMAGINED(int, cudaGetDeviceProperties)(char* out, int device) {
    return report(describe(out, device, settings().cuda >= 13000));
}

IMAGINED(int, cudaGetDeviceProperties_v2)(char* out, int device) {
    return report(describe(out, device, false));
}

IMAGINED(int, cudaDeviceCanAccessPeer)(int* can, int one, int other) {
    *can = one != other && one < settings().gpus && other < settings().gpus;
    return kSuccess;
}

IMAGINED(int, cudaDeviceEnablePeerAccess)(int, unsigned) {
    return kSuccess;
}

IMAGINED(int, cudaDeviceGetP2PAttribute)(int* value, int which, int, int) {
    *value = which == 1;  // cudaDevP2PAttrPerformanceRank is 0 for the best link
    return kSuccess;
}

IMAGINED(int, cudaDeviceGetStreamPriorityRange)(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return kSuccess;
}

IMAGINED(int, cudaDeviceGetPCIBusId)(char* to, int size, int device) {
    std::snprintf(to, static_cast<std::size_t>(size), "0000:%02X:00.0", device + kFirstBus);
    return kSuccess;
}

IMAGINED(int, cudaDeviceGetLimit)(std::size_t* value, int) {
    *value = 1024;
    return kSuccess;
}

IMAGINED(int, cudaDeviceSetLimit)(int, std::size_t) {
    return kSuccess;
}

IMAGINED(int, cudaGetLastError)() {
    const int error = last_error();
    last_error() = kSuccess;
    return error;
}

IMAGINED(int, cudaPeekAtLastError)() {
    return last_error();
}

IMAGINED(const char*, cudaGetErrorName)(int status) {
    return name_of(status);
}

IMAGINED(const char*, cudaGetErrorString)(int status) {
    return text_of(status);
}

IMAGINED(int, cudaProfilerStart)() {
    return kSuccess;
}

IMAGINED(int, cudaProfilerStop)() {
    return kSuccess;
}

// The driver's names of the same.
IMAGINED(int, cuDeviceGetCount)(int* count) {
    *count = settings().gpus;
    return kSuccess;
}

IMAGINED(int, cuDeviceGet)(int* device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < settings().gpus ? kSuccess : kInvalidDevice;
}

IMAGINED(int, cuDeviceGetName)(char* to, int size, int) {
    std::snprintf(to, static_cast<std::size_t>(size), "%s", settings().card.name.c_str());
    return kSuccess;
}

IMAGINED(int, cuDeviceGetUuid)(char* to, int device) {
    std::memset(to, 0, 16);
    write_uuid(to, device);
    return kSuccess;
}

IMAGINED(int, cuDeviceGetUuid_v2)(char* to, int device) {
    return imagined_cuDeviceGetUuid(to, device);
}

IMAGINED(int, cuDeviceTotalMem_v2)(std::size_t* bytes, int) {
    *bytes = settings().card.memory;
    return kSuccess;
}

IMAGINED(int, cuDeviceComputeCapability)(int* major, int* minor, int device) {
    *major = attribute(75, device);
    *minor = attribute(76, device);
    return kSuccess;
}

IMAGINED(int, cuDeviceGetAttribute)(int* value, int which, int device) {
    *value = attribute(which, device);
    return kSuccess;
}

IMAGINED(int, cuDeviceCanAccessPeer)(int* can, int one, int other) {
    return imagined_cudaDeviceCanAccessPeer(can, one, other);
}

IMAGINED(int, cuDriverGetVersion)(int* version) {
    *version = settings().cuda;
    return kSuccess;
}

IMAGINED(int, cuGetErrorString)(int status, const char** text) {
    *text = text_of(status);
    return kSuccess;
}

IMAGINED(int, cuGetErrorName)(int status, const char** text) {
    *text = name_of(status);
    return kSuccess;
}
