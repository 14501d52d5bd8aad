// Opens the fake and the real driver for tests.
#include "tests/backends/cuda/machines.h"

namespace tidemark::support {

fake::Control& fake_cuda() {
    static fake::Control control{TIDEMARK_FAKE_CUDA};
    REQUIRE(control.loaded());
    return control;
}

std::shared_ptr<const CudaDriver> fake_driver(const fake::Config& pretended) {
    fake_cuda().reset(pretended);
    auto driver = CudaDriver::open(TIDEMARK_FAKE_CUDA);
    if (!driver)
        FAIL(to_text(driver.error()));
    return *driver;
}

std::unique_ptr<CudaDevice> open_device(const std::shared_ptr<const CudaDriver>& driver,
                                        const CudaConfig& config) {
    auto device = CudaDevice::open(driver, config);
    if (!device)
        FAIL(to_text(device.error()));
    return std::move(*device);
}

std::shared_ptr<const CudaDriver> real_driver() {
    static const auto driver = CudaDriver::open("libcuda.so.1");
    if (!driver || (*driver)->device_count() == 0) {
        WARN("skipped: no GPU here: " << (driver ? "no device" : to_text(driver.error())));
        return nullptr;
    }
    return *driver;
}

void on_fake(const std::function<void(CudaDevice&)>& test, const CudaConfig& config) {
    auto device = open_device(fake_driver(), config);
    test(*device);
    device.reset();
    CHECK(fake_cuda().leaks_text() == "");
}

void on_gpu(const std::function<void(CudaDevice&)>& test, const CudaConfig& config) {
    const auto driver = real_driver();
    if (!driver)
        return;
    const auto keeper = open_device(driver, {});  // the context's own memory stays the same
    {
        const auto device = open_device(driver, config);
        test(*device);  // modules and pools of the driver grow at first use
    }
    const Bytes before = keeper->memory().free;
    {
        const auto device = open_device(driver, config);
        test(*device);
    }
    CHECK(keeper->memory().free + 2_MiB >= before);
}

void must(const CudaDevice& device, const DeviceResult<void>& result) {
    if (!result)
        FAIL(to_text(device.explain(result.error())));
}

}  // namespace tidemark::support
