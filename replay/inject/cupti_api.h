// The part of CUPTI's callback interface that the recorder uses: our own declarations, so that no
// toolkit is needed to build. Names, layouts and numbers are those of its documented interface
// (CUDA 12 and 13, 64-bit Linux), where numbers of calls never change; a test compares them with
// NVIDIA's headers where there are any. Which calls are recorded is listed in recorded_calls.inc
// and launched_calls.inc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/driver_api.h"

namespace tidemark::inject {

using CUpti_SubscriberHandle = struct CUpti_Subscriber_st*;
using CUpti_CallbackFunc = void (*)(void* user, int domain, std::uint32_t id, const void* data);

// CUptiResult
constexpr int kCuptiSuccess = 0;
constexpr int kCuptiMultipleSubscribers = 39;

// CUpti_CallbackDomain
constexpr int kDriverDomain = 1;
constexpr int kResourceDomain = 3;

// CUpti_CallbackIdResource
constexpr std::uint32_t kContextCreated = 1;
constexpr std::uint32_t kContextDestroyStarting = 2;
constexpr std::uint32_t kModuleUnloadStarting = 7;

// CUpti_ApiCallbackSite
enum class CallbackSite : int { enter = 0, exit = 1 };

struct CUpti_CallbackData {
    CallbackSite site = CallbackSite::enter;
    const char* function_name = nullptr;
    const void* function_params = nullptr;
    void* function_return_value = nullptr;
    const char* symbol_name = nullptr;
    cuda::CUcontext context = nullptr;
    std::uint32_t context_uid = 0;
    std::uint64_t* correlation_data = nullptr;
    std::uint32_t correlation_id = 0;
};

struct CUpti_ResourceData {
    cuda::CUcontext context = nullptr;
    void* resource_handle = nullptr;
    void* resource_descriptor = nullptr;
};

static_assert(offsetof(CUpti_CallbackData, function_params) == 16);
static_assert(offsetof(CUpti_CallbackData, function_return_value) == 24);
static_assert(offsetof(CUpti_CallbackData, context) == 40);
static_assert(sizeof(CUpti_CallbackData) == 72);
static_assert(sizeof(CUpti_ResourceData) == 24);

// The parameters of a call, as CUPTI shows them: each call's in the order of its declaration. Calls
// whose parameters start with the same ones share a structure.

// cuMemAlloc, cuMemAllocManaged, cuMemAllocHost, cuMemHostAlloc, and with a stream cuMemAllocAsync.
struct AllocateParams {
    const std::uint64_t* address = nullptr;
    std::size_t size = 0;
};

struct AllocateAsyncParams {
    AllocateParams request;
    cuda::CUstream stream = nullptr;
};

struct AllocateFromPoolParams {
    AllocateParams request;
    cuda::CUmemoryPool pool = nullptr;
    cuda::CUstream stream = nullptr;
};

struct AllocatePitchParams {
    const std::uint64_t* address = nullptr;
    const std::size_t* pitch = nullptr;
    std::size_t width = 0;
    std::size_t height = 0;
    unsigned element_size = 0;
};

// cuMemHostRegister: the address is what was passed.
struct RegisterParams {
    std::uint64_t address = 0;
    std::size_t size = 0;
    unsigned flags = 0;
};

// cuMemFree, cuMemFreeHost, cuMemHostUnregister, cuIpcCloseMemHandle; cuArrayDestroy and
// cuMipmappedArrayDestroy, whose handles are addresses; with a stream cuMemFreeAsync.
struct FreeParams {
    std::uint64_t address = 0;
};

struct FreeAsyncParams {
    std::uint64_t address = 0;
    cuda::CUstream stream = nullptr;
};

// CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR.
struct ArrayDescriptor {
    std::size_t width = 0;
    std::size_t height = 0;
    int format = 0;
    unsigned channels = 0;
};

struct Array3dDescriptor {
    std::size_t width = 0;
    std::size_t height = 0;
    std::size_t depth = 0;
    int format = 0;
    unsigned channels = 0;
    unsigned flags = 0;
};

constexpr unsigned kArraySparse = 0x40;           // CUDA_ARRAY3D_SPARSE
constexpr unsigned kArrayDeferredMapping = 0x80;  // CUDA_ARRAY3D_DEFERRED_MAPPING

struct ArrayParams {
    const std::uint64_t* handle = nullptr;
    const ArrayDescriptor* array = nullptr;
};

struct Array3dParams {
    const std::uint64_t* handle = nullptr;
    const Array3dDescriptor* array = nullptr;
};

struct MipmappedArrayParams {
    const std::uint64_t* handle = nullptr;
    const Array3dDescriptor* array = nullptr;
    unsigned levels = 0;
};

struct ReserveParams {
    const std::uint64_t* address = nullptr;
    std::size_t size = 0;
    std::size_t alignment = 0;
    std::uint64_t wanted = 0;
    unsigned long long flags = 0;
};

// cuMemAddressFree, cuMemUnmap.
struct RangeParams {
    std::uint64_t address = 0;
    std::size_t size = 0;
};

struct CreateParams {
    const cuda::CUmemHandle* handle = nullptr;
    std::size_t size = 0;
    const cuda::CUmemAllocationProp* properties = nullptr;
    unsigned long long flags = 0;
};

struct ReleaseParams {
    cuda::CUmemHandle handle = 0;
};

struct MapParams {
    std::uint64_t address = 0;
    std::size_t size = 0;
    std::size_t offset = 0;
    cuda::CUmemHandle handle = 0;
    unsigned long long flags = 0;
};

struct RetainParams {
    const cuda::CUmemHandle* handle = nullptr;
    std::uint64_t address = 0;
};

struct IpcOpenParams {
    const std::uint64_t* address = nullptr;
    cuda::CUipcMemHandle handle;
    unsigned flags = 0;
};

struct PoolCreateParams {
    const cuda::CUmemoryPool* pool = nullptr;
    const cuda::CUmemPoolProps* properties = nullptr;
};

struct PoolDestroyParams {
    cuda::CUmemoryPool pool = nullptr;
};

struct PoolOfDeviceParams {
    const cuda::CUmemoryPool* pool = nullptr;
    cuda::CUdevice device = 0;
};

struct SetPoolParams {
    cuda::CUdevice device = 0;
    cuda::CUmemoryPool pool = nullptr;
};

// CUDA_MEM_ALLOC_NODE_PARAMS
struct MemoryNode {
    cuda::CUmemPoolProps properties;
    const cuda::CUmemAccessDesc* access = nullptr;
    std::size_t access_count = 0;
    std::size_t size = 0;
    std::uint64_t address = 0;
};

struct GraphAllocateParams {
    const cuda::CUgraphNode* node = nullptr;
    cuda::CUgraph graph = nullptr;
    const cuda::CUgraphNode* dependencies = nullptr;
    std::size_t dependency_count = 0;
    const MemoryNode* memory = nullptr;
};

// cuLaunchKernel, cuLaunchCooperativeKernel, which has no `extra`.
struct LaunchParams {
    cuda::CUfunction function = nullptr;
    unsigned grid[3] = {};
    unsigned block[3] = {};
    unsigned shared_bytes = 0;
    cuda::CUstream stream = nullptr;
    void* const* arguments = nullptr;
    void* const* extra = nullptr;
};

// CUlaunchConfig, as far as it is read.
struct LaunchConfig {
    unsigned grid[3] = {};
    unsigned block[3] = {};
    unsigned shared_bytes = 0;
    cuda::CUstream stream = nullptr;
};

struct LaunchExParams {
    const LaunchConfig* config = nullptr;
    cuda::CUfunction function = nullptr;
    void* const* arguments = nullptr;
    void* const* extra = nullptr;
};

// What `extra` is made of: each but the last is followed by its value.
constexpr std::uintptr_t kExtraEnd = 0;         // CU_LAUNCH_PARAM_END
constexpr std::uintptr_t kExtraBuffer = 1;      // CU_LAUNCH_PARAM_BUFFER_POINTER
constexpr std::uintptr_t kExtraBufferSize = 2;  // CU_LAUNCH_PARAM_BUFFER_SIZE: of a size_t

struct GraphLaunchParams {
    cuda::CUgraphExec graph = nullptr;
    cuda::CUstream stream = nullptr;
};

// cuMemcpy and its variants between host and device, whose pointers are addresses; with a stream
// those that are asynchronous.
struct CopyParams {
    std::uint64_t target = 0;
    std::uint64_t source = 0;
    std::size_t size = 0;
};

struct CopyAsyncParams {
    CopyParams copy;
    cuda::CUstream stream = nullptr;
};

// cuMemcpyPeer, with a stream cuMemcpyPeerAsync.
struct CopyPeerParams {
    std::uint64_t target = 0;
    cuda::CUcontext target_context = nullptr;
    std::uint64_t source = 0;
    cuda::CUcontext source_context = nullptr;
    std::size_t size = 0;
};

struct CopyPeerAsyncParams {
    CopyPeerParams copy;
    cuda::CUstream stream = nullptr;
};

// CUmemorytype
constexpr int kMemoryIsHost = 1;
constexpr int kMemoryIsArray = 3;

// Half of CUDA_MEMCPY2D.
struct CopyEnd2d {
    std::size_t x = 0;
    std::size_t y = 0;
    int type = 0;
    std::uint64_t host = 0;
    std::uint64_t device = 0;  // also where the driver finds out whose address it is
    std::uint64_t array = 0;
    std::size_t pitch = 0;
};

// Half of CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER.
struct CopyEnd3d {
    std::size_t x = 0;
    std::size_t y = 0;
    std::size_t z = 0;
    std::size_t level = 0;
    int type = 0;
    std::uint64_t host = 0;
    std::uint64_t device = 0;
    std::uint64_t array = 0;
    cuda::CUcontext context = nullptr;
    std::size_t pitch = 0;
    std::size_t height = 0;
};

// cuMemcpy2D, cuMemcpy3D, cuMemcpy3DPeer; with a stream those that are asynchronous.
template <class End>
struct CopyBoxParams {
    struct Copy {
        End source;
        End target;
    };

    const Copy* copy = nullptr;
    cuda::CUstream stream = nullptr;  // where it is asynchronous
};

// cuMemcpyBatchAsync: of arrays with an element for each copy.
struct CopyBatchParams {
    const std::uint64_t* targets = nullptr;
    const std::uint64_t* sources = nullptr;
    const std::size_t* sizes = nullptr;
    std::size_t count = 0;
    const void* attributes = nullptr;
    const std::size_t* attribute_indices = nullptr;
    std::size_t attribute_count = 0;
    std::size_t* failed = nullptr;
    cuda::CUstream stream = nullptr;
};

// The same since CUDA 13 (_v2).
struct CopyBatchV2Params {
    const std::uint64_t* targets = nullptr;
    const std::uint64_t* sources = nullptr;
    const std::size_t* sizes = nullptr;
    std::size_t count = 0;
    const void* attributes = nullptr;
    const std::size_t* attribute_indices = nullptr;
    std::size_t attribute_count = 0;
    cuda::CUstream stream = nullptr;
};

// CUmemcpy3DOperandType
constexpr int kOperandIsArray = 2;

// CUmemcpy3DOperand
struct CopyOperand {
    int type = 0;
    std::uint64_t address = 0;  // or the array
    std::uint64_t unread[3] = {};
};

// CUDA_MEMCPY3D_BATCH_OP
struct CopyOperation {
    CopyOperand source;
    CopyOperand target;
    std::size_t extent[3] = {};
    int access_order = 0;
    unsigned flags = 0;
};

// cuMemcpy3DBatchAsync.
struct CopyBoxBatchParams {
    std::size_t count = 0;
    const CopyOperation* operations = nullptr;
    std::size_t* failed = nullptr;
    unsigned long long flags = 0;
    cuda::CUstream stream = nullptr;
};

// The same since CUDA 13 (_v2).
struct CopyBoxBatchV2Params {
    std::size_t count = 0;
    const CopyOperation* operations = nullptr;
    unsigned long long flags = 0;
    cuda::CUstream stream = nullptr;
};

// cuMemsetD8, D16, D32.
struct FillParams {
    std::uint64_t target = 0;
    std::uint64_t value = 0;  // its first bytes
    std::size_t count = 0;
};

struct FillAsyncParams {
    FillParams fill;
    cuda::CUstream stream = nullptr;
};

// cuMemsetD2D8, D2D16, D2D32.
struct Fill2dParams {
    std::uint64_t target = 0;
    std::size_t pitch = 0;
    std::uint64_t value = 0;  // its first bytes
    std::size_t width = 0;
    std::size_t height = 0;
    cuda::CUstream stream = nullptr;  // where it is asynchronous
};

static_assert(offsetof(LaunchParams, stream) == 40 && offsetof(LaunchConfig, stream) == 32);
static_assert(sizeof(CopyEnd2d) == 56 && sizeof(CopyEnd3d) == 88);
static_assert(offsetof(SetPoolParams, pool) == 8);
static_assert(offsetof(IpcOpenParams, flags) == 72);
static_assert(offsetof(Array3dDescriptor, format) == 24 && sizeof(Array3dDescriptor) == 40);
static_assert(sizeof(ArrayDescriptor) == 24);
static_assert(offsetof(MemoryNode, size) == 104);

}  // namespace tidemark::inject
