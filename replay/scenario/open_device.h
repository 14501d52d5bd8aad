// Opening real hardware, with errors that say where to look.
#pragma once

#include <memory>

#include "backends/cuda/cuda_device.h"
#include "core/base/result.h"

namespace tidemark {

// The CUDA driver. Errors: those of CudaDriver::open, with a hint for users of --device.
Result<std::shared_ptr<const CudaDriver>> open_cuda_driver();

// A device of it. Errors: the same.
Result<std::unique_ptr<CudaDevice>> open_cuda_device(
    const std::shared_ptr<const CudaDriver>& driver, const CudaConfig& config);

}  // namespace tidemark
