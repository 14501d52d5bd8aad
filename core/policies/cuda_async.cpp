// cuda-async: cudaMallocAsync and cudaFreeAsync, from a pool of the program's own.
//
// Model: the driver's pool as it is (driver_pool_allocator.h). On the simulator its decisions are
// those of a real one, address by address, on all programs that were recorded with one
// (traces/samples/driver-pool; docs/driver-pool.md).
#include <array>

#include "core/base/text.h"
#include "core/policies/driver_pool_allocator.h"

namespace tidemark::policies {
namespace {

constexpr std::array<OptionInfo, 2> kCudaAsyncOptions{{
    {.name = "threshold",
     .type = OptionType::text,
     .unit = "bytes",
     .default_value = "0",
     .summary = "what the pool keeps at a synchronization, a size; max = everything",
     .source = "cudaMemPoolAttrReleaseThreshold, 0 unless a program sets it; PyTorch and RMM set "
               "the maximum"},
    {.name = "initial",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "memory that is requested from the pool and freed again before the first request",
     .source = "programs do this to have the memory mapped early"},
}};

Result<std::unique_ptr<Allocator>> make_cuda_async(Device& device, const Options& options) {
    Bytes threshold = DriverPoolAllocator::kKeepAll;
    if (const std::string_view text = options.text("threshold"); text != "max") {
        TM_ASSIGN(threshold, parse_bytes(text).map_error([](Error error) {
            error.where = "cuda-async: threshold";
            return error;
        }));
    }
    return std::make_unique<DriverPoolAllocator>(device, options.bytes("initial"), threshold);
}

}  // namespace

PolicyInfo cuda_async() {
    return {
        .name = "cuda-async",
        .summary = "the driver's stream-ordered pool: cudaMallocAsync, cudaFreeAsync",
        .source = "CUDA driver 580.159 on an H200, checked against its own decisions",
        .options = kCudaAsyncOptions,
        .make = make_cuda_async,
        .placement_matters = false,
        .also_called = "cudaMallocAsync",
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
