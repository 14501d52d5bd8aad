// Where the tests of the CUDA device run: on the fake driver, always, and on the real one where
// there is a GPU.
#pragma once

#include <functional>
#include <memory>

#include "backends/cuda/cuda_device.h"
#include "tests/backends/cuda/fake/fake_control.h"

namespace tidemark::support {

// The fake driver's door; loaded once for the program.
fake::Control& fake_cuda();

// The fake driver, reset to `pretended`.
std::shared_ptr<const CudaDriver> fake_driver(const fake::Config& pretended = {});

// A device of that driver; the test fails if it cannot be opened.
std::unique_ptr<CudaDevice> open_device(const std::shared_ptr<const CudaDriver>& driver,
                                        const CudaConfig& config = {});

// The real driver; null, with a warning, where there is no GPU.
std::shared_ptr<const CudaDriver> real_driver();

// What `test` says of a device, said of the fake one: afterwards nothing may be left over.
void on_fake(const std::function<void(CudaDevice&)>& test, const CudaConfig& config = {});

// The same on the real one: afterwards its memory must be back, but for what the driver keeps.
void on_gpu(const std::function<void(CudaDevice&)>& test, const CudaConfig& config = {});

// The value, or the test fails with what the device says about it.
template <class T>
T must(const CudaDevice& device, const DeviceResult<T>& result);

void must(const CudaDevice& device, const DeviceResult<void>& result);

}  // namespace tidemark::support

#include <catch2/catch.hpp>

namespace tidemark::support {

template <class T>
T must(const CudaDevice& device, const DeviceResult<T>& result) {
    if (!result)
        FAIL(to_text(device.explain(result.error())));
    return *result;
}

}  // namespace tidemark::support
