// Our declarations of CUPTI against NVIDIA's headers, where there are any: that this compiles is
// the test.
#include <cstddef>

#include <cupti.h>

#include "replay/inject/cupti_api.h"

namespace {

using namespace tidemark;

#define TIDEMARK_RECORDED_CALL(name, number, ...) \
    static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (number));
#include "replay/inject/recorded_calls.inc"
#undef TIDEMARK_RECORDED_CALL

static_assert(CUPTI_CB_DOMAIN_DRIVER_API == inject::kDriverDomain);
static_assert(CUPTI_CB_DOMAIN_RESOURCE == inject::kResourceDomain);
static_assert(CUPTI_CBID_RESOURCE_CONTEXT_CREATED == inject::kContextCreated);
static_assert(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING == inject::kContextDestroyStarting);
static_assert(CUPTI_API_ENTER == static_cast<int>(inject::CallbackSite::enter));
static_assert(CUPTI_API_EXIT == static_cast<int>(inject::CallbackSite::exit));
static_assert(CUPTI_SUCCESS == inject::kCuptiSuccess);
static_assert(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == inject::kCuptiMultipleSubscribers);
static_assert(CUDA_ARRAY3D_SPARSE == inject::kArraySparse);
static_assert(CUDA_ARRAY3D_DEFERRED_MAPPING == inject::kArrayDeferredMapping);

#define SAME_MEMBER(ours, our_member, theirs, their_member) \
    static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member))
#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs))

SAME_SIZE(inject::CUpti_CallbackData, ::CUpti_CallbackData);
SAME_MEMBER(inject::CUpti_CallbackData, function_params, ::CUpti_CallbackData, functionParams);
SAME_MEMBER(inject::CUpti_CallbackData, function_return_value, ::CUpti_CallbackData,
            functionReturnValue);
SAME_MEMBER(inject::CUpti_CallbackData, context, ::CUpti_CallbackData, context);
SAME_SIZE(inject::CUpti_ResourceData, ::CUpti_ResourceData);
SAME_MEMBER(inject::CUpti_ResourceData, context, ::CUpti_ResourceData, context);

SAME_SIZE(inject::AllocateParams, cuMemAlloc_v2_params);
SAME_MEMBER(inject::AllocateParams, size, cuMemAlloc_v2_params, bytesize);
SAME_MEMBER(inject::AllocateParams, size, cuMemAllocManaged_params, bytesize);
SAME_MEMBER(inject::AllocateParams, size, cuMemAllocHost_v2_params, bytesize);
SAME_MEMBER(inject::AllocateParams, size, cuMemHostAlloc_params, bytesize);
SAME_SIZE(inject::AllocateAsyncParams, cuMemAllocAsync_params);
SAME_MEMBER(inject::AllocateAsyncParams, stream, cuMemAllocAsync_params, hStream);
SAME_MEMBER(inject::AllocateAsyncParams, stream, cuMemAllocAsync_ptsz_params, hStream);
SAME_SIZE(inject::AllocateFromPoolParams, cuMemAllocFromPoolAsync_params);
SAME_MEMBER(inject::AllocateFromPoolParams, pool, cuMemAllocFromPoolAsync_params, pool);
SAME_MEMBER(inject::AllocateFromPoolParams, stream, cuMemAllocFromPoolAsync_ptsz_params, hStream);
SAME_SIZE(inject::AllocatePitchParams, cuMemAllocPitch_v2_params);
SAME_MEMBER(inject::AllocatePitchParams, width, cuMemAllocPitch_v2_params, WidthInBytes);
SAME_MEMBER(inject::AllocatePitchParams, height, cuMemAllocPitch_v2_params, Height);
SAME_SIZE(inject::RegisterParams, cuMemHostRegister_v2_params);
SAME_MEMBER(inject::RegisterParams, size, cuMemHostRegister_params, bytesize);
SAME_SIZE(inject::FreeParams, cuMemFree_v2_params);
SAME_SIZE(inject::FreeParams, cuMemFreeHost_params);
SAME_SIZE(inject::FreeParams, cuMemHostUnregister_params);
SAME_SIZE(inject::FreeParams, cuIpcCloseMemHandle_params);
SAME_SIZE(inject::FreeParams, cuArrayDestroy_params);
SAME_SIZE(inject::FreeParams, cuMipmappedArrayDestroy_params);
SAME_SIZE(inject::FreeAsyncParams, cuMemFreeAsync_params);
SAME_MEMBER(inject::FreeAsyncParams, stream, cuMemFreeAsync_ptsz_params, hStream);
SAME_SIZE(inject::ArrayDescriptor, CUDA_ARRAY_DESCRIPTOR);
SAME_MEMBER(inject::ArrayDescriptor, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME_MEMBER(inject::ArrayDescriptor, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME_SIZE(inject::Array3dDescriptor, CUDA_ARRAY3D_DESCRIPTOR);
SAME_MEMBER(inject::Array3dDescriptor, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
SAME_MEMBER(inject::Array3dDescriptor, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME_MEMBER(inject::Array3dDescriptor, channels, CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
SAME_MEMBER(inject::Array3dDescriptor, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME_SIZE(inject::ArrayParams, cuArrayCreate_v2_params);
SAME_SIZE(inject::Array3dParams, cuArray3DCreate_v2_params);
SAME_SIZE(inject::MipmappedArrayParams, cuMipmappedArrayCreate_params);
SAME_MEMBER(inject::MipmappedArrayParams, levels, cuMipmappedArrayCreate_params, numMipmapLevels);
SAME_SIZE(inject::ReserveParams, cuMemAddressReserve_params);
SAME_MEMBER(inject::ReserveParams, size, cuMemAddressReserve_params, size);
SAME_SIZE(inject::RangeParams, cuMemAddressFree_params);
SAME_SIZE(inject::RangeParams, cuMemUnmap_params);
SAME_SIZE(inject::CreateParams, cuMemCreate_params);
SAME_MEMBER(inject::CreateParams, properties, cuMemCreate_params, prop);
SAME_SIZE(inject::ReleaseParams, cuMemRelease_params);
SAME_SIZE(inject::MapParams, cuMemMap_params);
SAME_MEMBER(inject::MapParams, offset, cuMemMap_params, offset);
SAME_MEMBER(inject::MapParams, handle, cuMemMap_params, handle);
SAME_SIZE(inject::RetainParams, cuMemRetainAllocationHandle_params);
SAME_SIZE(inject::IpcOpenParams, cuIpcOpenMemHandle_v2_params);
SAME_SIZE(inject::PoolCreateParams, cuMemPoolCreate_params);
SAME_MEMBER(inject::PoolCreateParams, properties, cuMemPoolCreate_params, poolProps);
SAME_SIZE(inject::PoolDestroyParams, cuMemPoolDestroy_params);
SAME_SIZE(inject::PoolOfDeviceParams, cuDeviceGetDefaultMemPool_params);
SAME_MEMBER(inject::PoolOfDeviceParams, device, cuDeviceGetDefaultMemPool_params, dev);
SAME_SIZE(inject::SetPoolParams, cuDeviceSetMemPool_params);
SAME_MEMBER(inject::SetPoolParams, pool, cuDeviceSetMemPool_params, pool);
SAME_SIZE(inject::GraphAllocateParams, cuGraphAddMemAllocNode_params);
SAME_MEMBER(inject::GraphAllocateParams, memory, cuGraphAddMemAllocNode_params, nodeParams);
SAME_MEMBER(inject::MemoryNode, size, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);

}  // namespace
