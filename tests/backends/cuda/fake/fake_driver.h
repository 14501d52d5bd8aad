// The fake CUDA driver as a test holds it: configured again, opened like the real one, with the
// primary context of the first device current on this thread until the end.
#pragma once

#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "backends/cuda/driver.h"
#include "core/base/check.h"
#include "tests/backends/cuda/fake/fake_control.h"

namespace tidemark::fake {

class FakeDriver {
  public:
    explicit FakeDriver(const Config& config = {}) : control(TIDEMARK_FAKE_CUDA) {
        TM_CHECK(control.loaded());
        control.reset(config);
        Result<std::shared_ptr<const CudaDriver>> opened = CudaDriver::open(TIDEMARK_FAKE_CUDA);
        TM_CHECK(opened);
        driver = *opened;
        TM_CHECK(driver->cuDevicePrimaryCtxRetain(&context, 0) == cuda::CUresult::success);
        TM_CHECK(driver->cuCtxSetCurrent(context) == cuda::CUresult::success);
    }

    FakeDriver(const FakeDriver&) = delete;
    FakeDriver& operator=(const FakeDriver&) = delete;

    ~FakeDriver() { control.reset(); }

    // What lives beside the context that this object holds itself.
    std::string leaks() const {
        const Leaks found = control.leaks();
        return found.total() == 1 && found.contexts == 1 ? "" : control.leaks_text();
    }

    const CudaDriver* operator->() const { return driver.get(); }

    Control control;
    std::shared_ptr<const CudaDriver> driver;
    cuda::CUcontext context = nullptr;
};

inline std::uint32_t word_at(const FakeDriver& fake, cuda::CUdeviceptr address) {
    std::uint32_t word = 0;
    REQUIRE(fake.control.peek(address, &word, sizeof word));
    return word;
}

}  // namespace tidemark::fake
