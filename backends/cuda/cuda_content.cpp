// Checking contents: launch, copy back, wait.
#include "backends/cuda/cuda_content.h"

#include <algorithm>

#include "backends/cuda/cuda_kernels.h"

namespace tidemark {
namespace {

using cuda::CUdeviceptr;
using cuda::CUresult;

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerMultiprocessor = 8;
constexpr Bytes kBytesPerThread = 16;

CUdeviceptr as_device_pointer(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace

CudaContent::~CudaContent() {
    const CudaCurrent current{context_};
    if (context_.lost() != CUresult::success || current.code() != CUresult::success)
        return;
    const CudaDriver& driver = context_.driver();
    if (module_ != nullptr)
        static_cast<void>(driver.cuModuleUnload(module_));
    for (const Block& block : blocks_) {
        static_cast<void>(driver.cuMemFree_v2(block.device));
        static_cast<void>(driver.cuMemFreeHost(block.host));
    }
}

DeviceResult<cuda::CUfunction> CudaContent::kernel(CudaCall& call) {
    const std::lock_guard lock{mutex_};
    const CudaDriver& driver = context_.driver();
    if (kernel_ != nullptr)
        return kernel_;
    if (module_ == nullptr) {
        const void* text = cuda::kKernels;
        if (const auto loaded = call.make(driver.cuModuleLoadData, &module_, text); !loaded) {
            module_ = nullptr;
            return tl::make_unexpected(loaded.error());
        }
    }
    cuda::CUfunction found = nullptr;
    TM_TRY(call.make(driver.cuModuleGetFunction, &found, module_, cuda::kCountMismatches));
    kernel_ = found;
    return kernel_;
}

DeviceResult<void> CudaContent::add_counters(CudaCall& call) {
    const CudaDriver& driver = context_.driver();
    constexpr std::size_t kSize = kCounters * sizeof(std::uint64_t);
    Block block;
    TM_TRY(call.make(driver.cuMemAlloc_v2, &block.device, kSize));
    if (const auto made =
            call.make(driver.cuMemHostAlloc, &block.host, kSize, cuda::kHostAllocPortable);
        !made) {
        static_cast<void>(call.ask(driver.cuMemFree_v2, block.device));
        return made;
    }
    blocks_.push_back(block);
    auto* host = static_cast<std::uint64_t*>(block.host);
    for (std::size_t i = 0; i < kCounters; ++i)
        idle_.push_back({block.device + i * sizeof(std::uint64_t), host + i});
    return {};
}

DeviceResult<CudaContent::Counter> CudaContent::take_counter(CudaCall& call) {
    const std::lock_guard lock{mutex_};
    if (idle_.empty()) {
        TM_TRY(add_counters(call));
    }
    const Counter counter = idle_.back();
    idle_.pop_back();
    return counter;
}

DeviceResult<Bytes> CudaContent::count_mismatches(CudaCall& call, CUdeviceptr target,
                                                  std::uint32_t pattern, Bytes size,
                                                  cuda::CUstream stream) {
    TM_ASSIGN(const cuda::CUfunction function, kernel(call));
    TM_ASSIGN(const Counter counter, take_counter(call));

    const CudaDriver& driver = context_.driver();
    const Bytes wanted = (size + kThreads * kBytesPerThread - 1) / (kThreads * kBytesPerThread);
    const auto widest =
        static_cast<Bytes>(std::max(multiprocessors_, 1)) * kBlocksPerMultiprocessor;
    const auto grid = static_cast<unsigned>(std::min(wanted, widest));
    CUdeviceptr sum = counter.device;
    void* arguments[] = {&target, &size, &sum, &pattern};
    void** no_options = nullptr;
    DeviceResult<void> done = call.make(driver.cuMemsetD8Async, sum, static_cast<unsigned char>(0),
                                        sizeof(std::uint64_t), stream);
    if (done)
        done = call.make(driver.cuLaunchKernel, function, grid, 1U, 1U, kThreads, 1U, 1U, 0U,
                         stream, static_cast<void**>(arguments), no_options);
    if (done)
        done = call.make(driver.cuMemcpyAsync, as_device_pointer(counter.host), sum,
                         sizeof(std::uint64_t), stream);
    const DeviceResult<void> waited = call.make_waiting(driver.cuStreamSynchronize, stream);
    const Bytes mismatches = *counter.host;
    if (waited) {  // else the device may still write to it
        const std::lock_guard lock{mutex_};
        idle_.push_back(counter);
    }
    if (!done || !waited)
        return tl::make_unexpected(done ? waited.error() : done.error());
    return mismatches;
}

}  // namespace tidemark
