// rmm-cuda-async: RMM's cuda_async_memory_resource.
//
// Model: the driver's pool as it is (driver_pool_allocator.h). The pool keeps what it holds unless
// a threshold is set.
#include <array>

#include "core/policies/driver_pool_allocator.h"

namespace tidemark::policies {
namespace {

constexpr std::array<OptionInfo, 2> kRmmCudaAsyncOptions{{
    {.name = "initial",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "memory that is requested from the pool and freed again before the first request",
     .source = "initial_pool_size"},
    {.name = "threshold",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "what the pool keeps when the program waits for the device; 0 = everything",
     .source = "release_threshold"},
}};

}  // namespace

PolicyInfo rmm_cuda_async() {
    return {
        .name = "rmm-cuda-async",
        .summary = "RMM's wrapper of the driver's pool: every request calls cudaMallocAsync",
        .source = "RMM 26.10, cuda_async_memory_resource; the driver's pool is the device's",
        .options = kRmmCudaAsyncOptions,
        .make = [](Device& device, const Options& options) -> Result<std::unique_ptr<Allocator>> {
            const Bytes threshold = options.bytes("threshold");
            return std::make_unique<DriverPoolAllocator>(
                device, options.bytes("initial"),
                threshold != 0 ? threshold : DriverPoolAllocator::kKeepAll);
        },
        .placement_matters = false,
        .also_called = "cuda-async-memory-resource",
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
