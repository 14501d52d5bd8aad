// Our declarations of CUPTI against NVIDIA's headers, where there are any: that this compiles is
// the test.
#include <cstddef>

#include <cupti.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

#include "replay/inject/cupti_activities.h"
#include "replay/inject/cupti_api.h"
#include "replay/inject/nvtx_api.h"

namespace {

using namespace tidemark;

// Calls that headers before those of CUDA 12.8 and of 13 don't have.
#if CUPTI_API_VERSION < 26
#define TIDEMARK_WITHOUT_BATCHES
constexpr int CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync = 776;
constexpr int CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_ptsz = 777;
constexpr int CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync = 778;
constexpr int CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_ptsz = 779;
#endif
#if CUPTI_API_VERSION < 130000
#define TIDEMARK_WITHOUT_BATCHES_V2
constexpr int CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2 = 796;
constexpr int CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz = 797;
constexpr int CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2 = 798;
constexpr int CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2_ptsz = 799;
#endif

#define TIDEMARK_RECORDED_CALL(name, number, ...) \
    static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (number));
#include "replay/inject/recorded_calls.inc"
#undef TIDEMARK_RECORDED_CALL

#define TIDEMARK_LAUNCHED_CALL(name, number, ...) \
    static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (number));
#include "replay/inject/launched_calls.inc"
#undef TIDEMARK_LAUNCHED_CALL

static_assert(CUPTI_CB_DOMAIN_DRIVER_API == inject::kDriverDomain);
static_assert(CUPTI_CB_DOMAIN_RESOURCE == inject::kResourceDomain);
static_assert(CUPTI_CBID_RESOURCE_CONTEXT_CREATED == inject::kContextCreated);
static_assert(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING == inject::kContextDestroyStarting);
static_assert(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING == inject::kModuleUnloadStarting);
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
SAME_MEMBER(inject::CUpti_CallbackData, symbol_name, ::CUpti_CallbackData, symbolName);
SAME_SIZE(inject::LaunchParams, cuLaunchKernel_params);
SAME_MEMBER(inject::LaunchParams, stream, cuLaunchKernel_params, hStream);
SAME_MEMBER(inject::LaunchParams, arguments, cuLaunchKernel_params, kernelParams);
SAME_MEMBER(inject::LaunchParams, extra, cuLaunchKernel_ptsz_params, extra);
SAME_MEMBER(inject::LaunchParams, stream, cuLaunchCooperativeKernel_params, hStream);
SAME_MEMBER(inject::LaunchParams, arguments, cuLaunchCooperativeKernel_params, kernelParams);
SAME_SIZE(inject::LaunchExParams, cuLaunchKernelEx_params);
SAME_MEMBER(inject::LaunchExParams, arguments, cuLaunchKernelEx_params, kernelParams);
SAME_MEMBER(inject::LaunchConfig, stream, CUlaunchConfig, hStream);
SAME_SIZE(inject::GraphLaunchParams, cuGraphLaunch_params);
SAME_MEMBER(inject::GraphLaunchParams, stream, cuGraphLaunch_params, hStream);
SAME_SIZE(inject::CopyParams, cuMemcpyHtoD_v2_params);
SAME_MEMBER(inject::CopyParams, source, cuMemcpyDtoH_v2_params, srcDevice);
SAME_MEMBER(inject::CopyParams, size, cuMemcpyDtoD_v2_params, ByteCount);
SAME_MEMBER(inject::CopyParams, source, cuMemcpy_params, src);
SAME_MEMBER(inject::CopyAsyncParams, stream, cuMemcpyAsync_params, hStream);
SAME_MEMBER(inject::CopyAsyncParams, stream, cuMemcpyHtoDAsync_v2_params, hStream);
SAME_MEMBER(inject::CopyAsyncParams, stream, cuMemcpyDtoHAsync_v2_params, hStream);
SAME_MEMBER(inject::CopyAsyncParams, stream, cuMemcpyDtoDAsync_v2_ptsz_params, hStream);
SAME_SIZE(inject::CopyPeerParams, cuMemcpyPeer_params);
SAME_MEMBER(inject::CopyPeerParams, source, cuMemcpyPeerAsync_params, srcDevice);
SAME_MEMBER(inject::CopyPeerAsyncParams, stream, cuMemcpyPeerAsync_params, hStream);
SAME_MEMBER(inject::CopyBoxParams<inject::CopyEnd2d>, stream, cuMemcpy2DAsync_v2_params, hStream);
SAME_MEMBER(inject::CopyBoxParams<inject::CopyEnd3d>, stream, cuMemcpy3DAsync_v2_params, hStream);
SAME_MEMBER(inject::CopyBoxParams<inject::CopyEnd3d>, stream, cuMemcpy3DPeerAsync_params, hStream);
SAME_MEMBER(inject::CopyBoxParams<inject::CopyEnd2d>::Copy, source.device, CUDA_MEMCPY2D,
            srcDevice);
SAME_MEMBER(inject::CopyBoxParams<inject::CopyEnd2d>::Copy, target.type, CUDA_MEMCPY2D,
            dstMemoryType);
SAME_MEMBER(inject::CopyBoxParams<inject::CopyEnd2d>::Copy, target.array, CUDA_MEMCPY2D, dstArray);
SAME_MEMBER(inject::CopyBoxParams<inject::CopyEnd3d>::Copy, source.array, CUDA_MEMCPY3D, srcArray);
SAME_MEMBER(inject::CopyBoxParams<inject::CopyEnd3d>::Copy, target.device, CUDA_MEMCPY3D,
            dstDevice);
SAME_MEMBER(inject::CopyBoxParams<inject::CopyEnd3d>::Copy, target.host, CUDA_MEMCPY3D_PEER,
            dstHost);
static_assert(CU_MEMORYTYPE_HOST == inject::kMemoryIsHost);
static_assert(CU_MEMORYTYPE_ARRAY == inject::kMemoryIsArray);
#ifndef TIDEMARK_WITHOUT_BATCHES
SAME_SIZE(inject::CopyBatchParams, cuMemcpyBatchAsync_params);
SAME_MEMBER(inject::CopyBatchParams, sources, cuMemcpyBatchAsync_params, srcs);
SAME_MEMBER(inject::CopyBatchParams, stream, cuMemcpyBatchAsync_ptsz_params, hStream);
SAME_SIZE(inject::CopyBoxBatchParams, cuMemcpy3DBatchAsync_params);
SAME_MEMBER(inject::CopyBoxBatchParams, operations, cuMemcpy3DBatchAsync_params, opList);
SAME_MEMBER(inject::CopyBoxBatchParams, stream, cuMemcpy3DBatchAsync_ptsz_params, hStream);
SAME_SIZE(inject::CopyOperation, CUDA_MEMCPY3D_BATCH_OP);
SAME_MEMBER(inject::CopyOperation, target.address, CUDA_MEMCPY3D_BATCH_OP, dst.op.ptr.ptr);
SAME_MEMBER(inject::CopyOperation, source.address, CUDA_MEMCPY3D_BATCH_OP, src.op.array.array);
static_assert(CU_MEMCPY_OPERAND_TYPE_ARRAY == inject::kOperandIsArray);
#endif
#ifndef TIDEMARK_WITHOUT_BATCHES_V2
SAME_SIZE(inject::CopyBatchV2Params, cuMemcpyBatchAsync_v2_params);
SAME_MEMBER(inject::CopyBatchV2Params, stream, cuMemcpyBatchAsync_v2_ptsz_params, hStream);
SAME_SIZE(inject::CopyBoxBatchV2Params, cuMemcpy3DBatchAsync_v2_params);
SAME_MEMBER(inject::CopyBoxBatchV2Params, stream, cuMemcpy3DBatchAsync_v2_ptsz_params, hStream);
#endif
SAME_SIZE(inject::FillParams, cuMemsetD8_v2_params);
SAME_MEMBER(inject::FillParams, count, cuMemsetD32_v2_params, N);
SAME_MEMBER(inject::FillAsyncParams, stream, cuMemsetD16Async_params, hStream);
SAME_MEMBER(inject::Fill2dParams, stream, cuMemsetD2D8Async_params, hStream);

SAME_MEMBER(inject::KernelActivity, begin, CUpti_ActivityKernel9, start);
SAME_MEMBER(inject::KernelActivity, end, CUpti_ActivityKernel9, end);
SAME_MEMBER(inject::KernelActivity, correlation, CUpti_ActivityKernel9, correlationId);
SAME_MEMBER(inject::KernelActivity, name, CUpti_ActivityKernel9, name);
SAME_MEMBER(inject::CopyActivity, begin, CUpti_ActivityMemcpy6, start);
SAME_MEMBER(inject::CopyActivity, end, CUpti_ActivityMemcpy6, end);
SAME_MEMBER(inject::CopyActivity, correlation, CUpti_ActivityMemcpy6, correlationId);
SAME_MEMBER(inject::CopyActivity, begin, CUpti_ActivityMemset4, start);
SAME_MEMBER(inject::CopyActivity, end, CUpti_ActivityMemset4, end);
SAME_MEMBER(inject::CopyActivity, correlation, CUpti_ActivityMemset4, correlationId);
SAME_MEMBER(inject::PeerCopyActivity, begin, CUpti_ActivityMemcpyPtoP4, start);
SAME_MEMBER(inject::PeerCopyActivity, end, CUpti_ActivityMemcpyPtoP4, end);
SAME_MEMBER(inject::PeerCopyActivity, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
#define SAME_KIND(ours, theirs) \
    static_assert(static_cast<int>(inject::ActivityKind::ours) == (theirs))
SAME_KIND(copy, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_KIND(fill, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_KIND(kernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_KIND(peer_copy, CUPTI_ACTIVITY_KIND_MEMCPY2);
static_assert(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED == inject::kFlushForced);

#if __has_include(<nvtx3/nvToolsExt.h>)
namespace nvtx = inject::nvtx;
SAME_SIZE(nvtx::Attributes, nvtxEventAttributes_t);
SAME_MEMBER(nvtx::Attributes, message_type, nvtxEventAttributes_t, messageType);
SAME_MEMBER(nvtx::Attributes, message, nvtxEventAttributes_t, message);
SAME_MEMBER(nvtx::CallbackTables, table_of, NvtxExportTableCallbacks, GetModuleFunctionTable);
static_assert(NVTX_ETID_CALLBACKS == nvtx::kCallbacks);
static_assert(NVTX_CB_MODULE_CORE == nvtx::kCore && NVTX_CB_MODULE_CORE2 == nvtx::kCore2);
static_assert(NVTX_MESSAGE_TYPE_ASCII == nvtx::kText);
static_assert(NVTX_MESSAGE_TYPE_REGISTERED == nvtx::kRegistered);
#define SAME_ID(ours, theirs) static_assert(static_cast<int>(nvtx::ours) == (theirs))
SAME_ID(Core::mark_ex, NVTX_CBID_CORE_MarkEx);
SAME_ID(Core::mark, NVTX_CBID_CORE_MarkA);
SAME_ID(Core::start_ex, NVTX_CBID_CORE_RangeStartEx);
SAME_ID(Core::start, NVTX_CBID_CORE_RangeStartA);
SAME_ID(Core::start_wide, NVTX_CBID_CORE_RangeStartW);
SAME_ID(Core::end, NVTX_CBID_CORE_RangeEnd);
SAME_ID(Core::push_ex, NVTX_CBID_CORE_RangePushEx);
SAME_ID(Core::push, NVTX_CBID_CORE_RangePushA);
SAME_ID(Core::push_wide, NVTX_CBID_CORE_RangePushW);
SAME_ID(Core::pop, NVTX_CBID_CORE_RangePop);
SAME_ID(Core2::mark_ex, NVTX_CBID_CORE2_DomainMarkEx);
SAME_ID(Core2::start_ex, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME_ID(Core2::end, NVTX_CBID_CORE2_DomainRangeEnd);
SAME_ID(Core2::push_ex, NVTX_CBID_CORE2_DomainRangePushEx);
SAME_ID(Core2::pop, NVTX_CBID_CORE2_DomainRangePop);
SAME_ID(Core2::register_string, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME_ID(Core2::register_wide, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME_ID(Core2::create, NVTX_CBID_CORE2_DomainCreateA);
SAME_ID(Core2::create_wide, NVTX_CBID_CORE2_DomainCreateW);
#endif

}  // namespace
