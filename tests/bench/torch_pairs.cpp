// PyTorch's own allocator as a library of two functions, for concurrent_bench. Built where PyTorch
// is, by scripts/prove_pairs.py.
#include <cstdint>
#include <mutex>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

namespace native = c10::cuda::CUDACachingAllocator;

extern "C" std::uint64_t torch_pairs_take(std::uint64_t size, std::uint64_t stream) {
    static std::once_flag once;
    std::call_once(once, [] { native::init(c10::cuda::device_count()); });
    return reinterpret_cast<std::uint64_t>(
        native::raw_alloc_with_stream(size, reinterpret_cast<cudaStream_t>(stream)));
}

extern "C" void torch_pairs_give(std::uint64_t address) {
    native::raw_delete(reinterpret_cast<void*>(address));
}
