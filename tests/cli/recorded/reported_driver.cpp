// A CUDA driver and the CUPTI that reports its calls, in one file, for tests of `tidemark record`:
// the fake driver's calls (tests/backends/cuda/fake), each reported on entry and exit with its
// parameters laid out as NVIDIA's headers have them. The numbers of calls here are written down
// from those headers, apart from the product's.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include <dlfcn.h>

#include "backends/cuda/driver_api.h"
#include "tests/cli/recorded/reported_activities.h"

namespace tidemark::cuda {
namespace {

using Callback = void (*)(void* user, int domain, std::uint32_t id, const void* data);

struct CallbackData {
    int site;
    const char* function_name;
    const void* function_params;
    void* function_return_value;
    const char* symbol_name;
    CUcontext context;
    std::uint32_t context_uid;
    std::uint64_t* correlation_data;
    std::uint32_t correlation_id;
};

struct ResourceData {
    CUcontext context;
    void* handle;
    void* descriptor;
};

struct Subscription {
    Callback callback = nullptr;
    std::array<std::array<bool, 1024>, 8> enabled{};
};

Subscription subscription;
thread_local const char* symbol = nullptr;  // of the kernel that is launched
std::atomic<std::uint32_t> calls = 0;
thread_local std::uint32_t call = 0;  // the number of the one that is reported
std::mutex contexts_mutex;
std::map<CUcontext, CUdevice> contexts;

void* fake() {
    static void* const library = dlopen(TIDEMARK_FAKE_CUDA, RTLD_NOW);
    return library;
}

template <class... Args>
auto real(const char* name) {
    return reinterpret_cast<CUresult (*)(Args...)>(dlsym(fake(), name));
}

// Laid out as a structure of these members in this order is; of small ones in a row make an array.
template <class... Members>
struct Params;

template <class First, class... Rest>
struct Params<First, Rest...> {
    First first;
    Params<Rest...> rest;
};

template <class Last>
struct Params<Last> {
    Last first;
};

template <class First, class... Rest>
Params<First, Rest...> packed(First first, Rest... rest) {
    if constexpr (sizeof...(Rest) == 0)
        return {first};
    else
        return {first, packed(rest...)};
}

// Does what `work` does, reported as call `id`.
template <class Work, class... Args>
CUresult reported(std::uint32_t id, const char* name, Work work, Args... args) {
    CUresult result = CUresult::success;
    if (subscription.callback == nullptr || !subscription.enabled[1][id])
        return work();
    const auto params = packed(args...);
    CallbackData data{};
    data.function_name = name;
    data.function_params = &params;
    data.function_return_value = &result;
    data.symbol_name = symbol;
    data.correlation_id = ++calls;
    call = data.correlation_id;
    static_cast<void>(real<CUcontext*>("cuCtxGetCurrent")(&data.context));
    subscription.callback(nullptr, 1, id, &data);
    result = work();
    data.site = 1;
    subscription.callback(nullptr, 1, id, &data);
    return result;
}

void report_context(std::uint32_t id, CUcontext context) {
    const ResourceData data{context, nullptr, nullptr};
    if (subscription.callback != nullptr && subscription.enabled[3][id])
        subscription.callback(nullptr, 3, id, &data);
}

void add_context(CUcontext context, CUdevice device) {
    {
        const std::lock_guard lock(contexts_mutex);
        if (!contexts.emplace(context, device).second)
            return;
    }
    report_context(1, context);
}

void end_context(CUcontext context) {
    report_context(2, context);
    const std::lock_guard lock(contexts_mutex);
    contexts.erase(context);
}

CUcontext primary_of(CUdevice device) {
    const std::lock_guard lock(contexts_mutex);
    for (const auto& [context, its_device] : contexts) {
        if (its_device == device)
            return context;
    }
    return nullptr;
}

// Loads what the real driver would, once.
void inject() {
    static const bool done = [] {
        const char* const path = std::getenv("CUDA_INJECTION64_PATH");
        void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
        if (library != nullptr)
            reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
        return true;
    }();
    static_cast<void>(done);
}

// Kernels: what they take, as the driver answers.
struct Kernel {
    const char* symbol;
    std::vector<std::size_t> sizes;
    bool of_library;  // its handle is none of a function
};

std::map<std::string, Kernel> kernels{
    {"axpy", {"_Z4axpyPKfPffi", {8, 8, 4, 4}, true}},
    {"structure", {"_ZN3own9structureI6ParamsEEvT_i", {40, 4}, false}},
    {"scalar", {"_Z6scalard", {8}, false}},
    {"none", {"none", {}, false}},
};

template <class... Args>
CUresult launched(std::uint32_t id, const char* name, CUfunction function, Args... args) {
    const Kernel& kernel = *reinterpret_cast<const Kernel*>(function);
    symbol = kernel.sizes.empty() ? nullptr : kernel.symbol;  // some are named by the driver alone
    const CUresult result = reported(
        id, name,
        [&] {
            run_on_gpu(10, call, kernel.symbol);
            return CUresult::success;
        },
        args...);
    symbol = nullptr;
    return result;
}

CUresult parameter(CUfunction function, bool of_library, std::size_t index, std::size_t* offset,
                   std::size_t* size) {
    const Kernel& kernel = *reinterpret_cast<const Kernel*>(function);
    if (kernel.of_library != of_library)
        return CUresult::invalid_handle;
    if (index >= kernel.sizes.size())
        return CUresult::invalid_value;
    *offset = 0;
    for (std::size_t i = 0; i <= index; ++i) {
        *size = kernel.sizes[i];
        *offset = (*offset + *size - 1) / *size * *size;  // as if each were aligned to its size
        *offset += i < index ? *size : 0;
    }
    return CUresult::success;
}

CUresult plain(CUdeviceptr* address, std::size_t size) {
    return real<CUdeviceptr*, std::size_t>("cuMemAlloc_v2")(address, size);
}

}  // namespace
}  // namespace tidemark::cuda

#define EXPORT extern "C" __attribute__((visibility("default")))

// A call that the fake driver has.
#define REPORTED(id, name, parameters, ...)                                         \
    EXPORT CUresult name parameters {                                               \
        return reported(                                                            \
            id, #name, [&] { return call_real(#name, __VA_ARGS__); }, __VA_ARGS__); \
    }

// NOLINTBEGIN: the names are the driver's
namespace tidemark::cuda {
namespace {

template <class... Args>
CUresult call_real(const char* name, Args... args) {
    return real<Args...>(name)(args...);
}

}  // namespace

EXPORT CUresult cuInit(unsigned flags) {
    inject();
    return call_real("cuInit", flags);
}

REPORTED(243, cuMemAlloc_v2, (CUdeviceptr * address, std::size_t size), address, size)
REPORTED(245, cuMemFree_v2, (CUdeviceptr address), address)
REPORTED(39, cuMemHostAlloc, (void** address, std::size_t size, unsigned flags), address, size,
         flags)
REPORTED(38, cuMemFreeHost, (void* address), address)
REPORTED(379, cuMemHostRegister_v2, (void* address, std::size_t size, unsigned flags), address,
         size, flags)
REPORTED(302, cuMemHostUnregister, (void* address), address)
REPORTED(598, cuMemAllocAsync, (CUdeviceptr * address, std::size_t size, CUstream stream), address,
         size, stream)
REPORTED(611, cuMemAllocFromPoolAsync,
         (CUdeviceptr * address, std::size_t size, CUmemoryPool pool, CUstream stream), address,
         size, pool, stream)
REPORTED(600, cuMemFreeAsync, (CUdeviceptr address, CUstream stream), address, stream)
REPORTED(547, cuMemAddressReserve,
         (CUdeviceptr * address, std::size_t size, std::size_t alignment, CUdeviceptr wanted,
          unsigned long long flags),
         address, size, alignment, wanted, flags)
REPORTED(548, cuMemAddressFree, (CUdeviceptr address, std::size_t size), address, size)
REPORTED(549, cuMemCreate,
         (CUmemHandle * handle, std::size_t size, const CUmemAllocationProp* properties,
          unsigned long long flags),
         handle, size, properties, flags)
REPORTED(550, cuMemRelease, (CUmemHandle handle), handle)
REPORTED(551, cuMemMap,
         (CUdeviceptr address, std::size_t size, std::size_t offset, CUmemHandle handle,
          unsigned long long flags),
         address, size, offset, handle, flags)
REPORTED(552, cuMemUnmap, (CUdeviceptr address, std::size_t size), address, size)
REPORTED(567, cuIpcOpenMemHandle_v2, (CUdeviceptr * address, CUipcMemHandle handle, unsigned flags),
         address, handle, flags)
REPORTED(330, cuIpcCloseMemHandle, (CUdeviceptr address), address)
REPORTED(606, cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device), pool, device)
REPORTED(607, cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps* properties), pool,
         properties)
REPORTED(608, cuMemPoolDestroy, (CUmemoryPool pool), pool)
REPORTED(539, cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), stream, mode)
REPORTED(497, cuStreamEndCapture, (CUstream stream, CUgraph* graph), stream, graph)

// Those that it lacks, made of others.
EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                                   std::size_t height, unsigned element_size) {
    const auto work = [&] {
        *pitch = (width + 511) / 512 * 512;
        return plain(address, *pitch * height);
    };
    return reported(244, "cuMemAllocPitch_v2", work, address, pitch, width, height, element_size);
}

EXPORT CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t size, unsigned flags) {
    // As if the driver made it with a call of its own that is recorded as well.
    const auto work = [&] { return cuMemAlloc_v2(address, size); };
    return reported(371, "cuMemAllocManaged", work, address, size, flags);
}

EXPORT CUresult cuMemAllocHost_v2(void** address, std::size_t size) {
    const auto work = [&] { return call_real("cuMemHostAlloc", address, size, 0U); };
    return reported(294, "cuMemAllocHost_v2", work, address, size);
}

EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, std::size_t size, CUstream stream) {
    const auto work = [&] { return call_real("cuMemAllocAsync", address, size, stream); };
    return reported(599, "cuMemAllocAsync_ptsz", work, address, size, stream);
}

EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
    const auto work = [&] { return call_real("cuMemFreeAsync", address, stream); };
    return reported(601, "cuMemFreeAsync_ptsz", work, address, stream);
}

EXPORT CUresult cuArray3DCreate_v2(CUdeviceptr* handle, const void* descriptor) {
    const auto work = [&] { return plain(handle, 4096); };
    return reported(274, "cuArray3DCreate_v2", work, handle, descriptor);
}

EXPORT CUresult cuArrayDestroy(CUdeviceptr handle) {
    const auto work = [&] { return call_real("cuMemFree_v2", handle); };
    return reported(89, "cuArrayDestroy", work, handle);
}

// Contexts, which are reported as such.
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    const CUresult result = call_real("cuDevicePrimaryCtxRetain", context, device);
    if (result == CUresult::success)
        add_context(*context, device);
    return result;
}

EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    end_context(primary_of(device));
    return call_real("cuDevicePrimaryCtxReset_v2", device);
}

EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
    const CUresult result = call_real("cuCtxCreate_v2", context, flags, device);
    if (result == CUresult::success)
        add_context(*context, device);
    return result;
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
    end_context(context);
    return call_real("cuCtxDestroy_v2", context);
}

// Launches, which do nothing, and copies.
EXPORT CUresult cuFuncGetName(const char** name, CUfunction function) {
    *name = reinterpret_cast<const Kernel*>(function)->symbol;
    return CUresult::success;
}

EXPORT CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                                   std::size_t* size) {
    return parameter(function, false, index, offset, size);
}

EXPORT CUresult cuKernelGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                                     std::size_t* size) {
    return parameter(function, true, index, offset, size);
}

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, CUstream stream,
                               void** arguments, void** extra) {
    return launched(307, "cuLaunchKernel", function, function,
                    std::array{x, y, z, bx, by, bz, shared}, stream, arguments, extra);
}

EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned x, unsigned y,
                                               unsigned z, unsigned bx, unsigned by, unsigned bz,
                                               unsigned shared, CUstream stream, void** arguments) {
    return launched(478, "cuLaunchCooperativeKernel_ptsz", function, function,
                    std::array{x, y, z, bx, by, bz, shared}, stream, arguments);
}

EXPORT CUresult cuLaunchKernelEx(const void* config, CUfunction function, void** arguments,
                                 void** extra) {
    return launched(652, "cuLaunchKernelEx", function, config, function, arguments, extra);
}

EXPORT CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
    const auto work = [&] {
        run_on_gpu(10, call, "_Z5firstv");
        run_on_gpu(10, call, "_Z6secondv");
        return call_real("cuGraphLaunch", graph, stream);
    };
    return reported(514, "cuGraphLaunch", work, graph, stream);
}

EXPORT CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, std::size_t size,
                              CUstream stream) {
    const auto work = [&] {
        run_on_gpu(1, call, nullptr);
        return call_real("cuMemcpyAsync", target, source, size, stream);
    };
    return reported(306, "cuMemcpyAsync", work, target, source, size, stream);
}

EXPORT CUresult cuMemcpyBatchAsync(CUdeviceptr* targets, CUdeviceptr* sources, std::size_t* sizes,
                                   std::size_t count, void* attributes, std::size_t* indices,
                                   std::size_t attribute_count, std::size_t* failed,
                                   CUstream stream) {
    const auto work = [&] {
        for (std::size_t i = 0; i < count; ++i)
            run_on_gpu(1, call, nullptr);
        return CUresult::success;
    };
    return reported(776, "cuMemcpyBatchAsync", work, targets, sources, sizes, count, attributes,
                    indices, attribute_count, failed, stream);
}

EXPORT CUresult cuMemcpy3DBatchAsync_v2(std::size_t count, void* operations,
                                        unsigned long long flags, CUstream stream) {
    return reported(
        798, "cuMemcpy3DBatchAsync_v2", [] { return CUresult::success; }, count, operations, flags,
        stream);
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, std::size_t count,
                                CUstream stream) {
    const auto work = [&] {
        run_on_gpu(2, call, nullptr);
        return call_real("cuMemsetD8Async", target, value, count, stream);
    };
    return reported(216, "cuMemsetD8Async", work, target, value, count, stream);
}

EXPORT CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr target, const void* source, std::size_t size) {
    return reported(
        397, "cuMemcpyHtoD_v2_ptds", [] { return CUresult::success; }, target, source, size);
}

EXPORT CUresult cuMemcpy2D_v2(const void* copy) {
    return reported(
        287, "cuMemcpy2D_v2", [] { return CUresult::success; }, copy);
}

// For tests: a kernel's handle, and that its code is unloaded and other code gets the handle.
EXPORT CUfunction test_kernel(const char* name) {
    return reinterpret_cast<CUfunction>(&kernels.at(name));
}

EXPORT void test_reload(const char* name, const char* by) {
    report_context(7, nullptr);
    kernels.at(name) = kernels.at(by);
}

// CUPTI.
EXPORT int cuptiSubscribe(void** subscriber, Callback callback, void* /*user*/) {
    if (subscription.callback != nullptr || std::getenv("TIDEMARK_TEST_CUPTI_TAKEN") != nullptr)
        return 39;
    subscription.callback = callback;
    *subscriber = &subscription;
    return 0;
}

EXPORT int cuptiUnsubscribe(void* /*subscriber*/) {
    subscription = {};
    return 0;
}

EXPORT int cuptiEnableCallback(std::uint32_t enable, void* /*subscriber*/, int domain,
                               std::uint32_t id) {
    subscription.enabled.at(static_cast<std::size_t>(domain)).at(id) = enable != 0;
    return 0;
}

EXPORT int cuptiGetDeviceId(CUcontext context, std::uint32_t* device) {
    const std::lock_guard lock(contexts_mutex);
    const auto found = contexts.find(context);
    if (found == contexts.end())
        return 1;
    *device = static_cast<std::uint32_t>(found->second);
    return 0;
}

EXPORT int cuptiGetResultString(int /*code*/, const char** text) {
    *text = "CUPTI_ERROR_OF_A_TEST";
    return 0;
}

}  // namespace tidemark::cuda

// NOLINTEND
