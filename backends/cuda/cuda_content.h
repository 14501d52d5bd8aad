// CudaContent: checks what memory contains. Compiles our kernel at its first use and lends counters
// that it adds to: a word on the device, and a pinned one to which that is copied back.
//
// The first use takes 512 bytes of the device's memory by plain allocation (which the driver cuts
// from a piece of 2 MiB) and what the driver needs for the module, and keeps them as long as the
// device exists. Thread-safe: checks on different streams run in parallel.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/cuda/cuda_context.h"

namespace tidemark {

class CudaContent {
  public:
    // `multiprocessors` determines how wide the kernel is launched.
    CudaContent(CudaContext& context, int multiprocessors)
        : context_(context), multiprocessors_(multiprocessors) {}

    CudaContent(const CudaContent&) = delete;
    CudaContent& operator=(const CudaContent&) = delete;
    ~CudaContent();

    // How many of the `size` bytes at `target` differ from `pattern`, when everything that is
    // queued on `stream` so far is done. Waits for it; the wait is a stall. O(size).
    DeviceResult<Bytes> count_mismatches(CudaCall& call, cuda::CUdeviceptr target,
                                         std::uint32_t pattern, Bytes size, cuda::CUstream stream);

  private:
    struct Counter {
        cuda::CUdeviceptr device = 0;
        std::uint64_t* host = nullptr;
    };

    // A piece of device memory and one of pinned memory, kCounters words each.
    struct Block {
        cuda::CUdeviceptr device = 0;
        void* host = nullptr;
    };

    static constexpr std::size_t kCounters = 64;

    DeviceResult<cuda::CUfunction> kernel(CudaCall& call);
    DeviceResult<Counter> take_counter(CudaCall& call);
    DeviceResult<void> add_counters(CudaCall& call);  // under the mutex

    CudaContext& context_;
    int multiprocessors_;
    std::mutex mutex_;  // guards what follows
    cuda::CUmodule module_ = nullptr;
    cuda::CUfunction kernel_ = nullptr;
    std::vector<Block> blocks_;
    std::vector<Counter> idle_;
};

}  // namespace tidemark
