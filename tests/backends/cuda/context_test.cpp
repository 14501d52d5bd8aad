// The primary context: made current for a call and put back, shared, given up; several devices and
// several threads.
#include <thread>
#include <vector>

#include "tests/backends/cuda/machines.h"
#include "tests/support/device.h"

namespace tidemark {
namespace {

using namespace support;

cuda::CUcontext current(const CudaDriver& driver) {
    cuda::CUcontext found = nullptr;
    REQUIRE(driver.cuCtxGetCurrent(&found) == cuda::CUresult::success);
    return found;
}

// Every call that enters the driver, once, with what it makes given back.
void call_all(CudaDevice& device) {
    const Address memory = must(device, device.malloc(1_MiB));
    must(device, device.fill(memory, 1, 1_MiB, kStream));
    const EventId point = must(device, device.record(kStream));
    must(device, device.synchronize(kStream));
    CHECK(must(device, device.complete(point)));
    const Range range = must(device, device.reserve(device.granularity()));
    const PhysicalId handle = must(device, device.create({}, device.granularity()));
    must(device, device.map(range, handle));
    must(device, device.unmap(range));
    must(device, device.release(handle));
    must(device, device.unreserve(range));
    CHECK(must(device, device.check_pattern(memory, 0x01010101, 1_MiB, kStream)) == 0);
    CHECK(device.memory().total > 0);
    must(device, device.free(memory));
    CHECK(!device.free(memory));
}

void check_context_put_back(const std::shared_ptr<const CudaDriver>& driver) {
    REQUIRE(driver->cuCtxSetCurrent(nullptr) == cuda::CUresult::success);
    auto device = open_device(driver);
    CHECK(current(*driver) == nullptr);

    call_all(*device);
    CHECK(current(*driver) == nullptr);

    REQUIRE(driver->cuCtxSetCurrent(device->native_context()) == cuda::CUresult::success);
    call_all(*device);
    CHECK(current(*driver) == device->native_context());
    REQUIRE(driver->cuCtxSetCurrent(nullptr) == cuda::CUresult::success);
    device.reset();
    CHECK(current(*driver) == nullptr);
}

TEST_CASE("every call leaves the current context as it was", "[cuda]") {
    check_context_put_back(fake_driver());
    CHECK(fake_cuda().leaks_text() == "");
}

TEST_CASE("every call leaves the current context as it was on the real driver", "[cuda][gpu]") {
    if (const auto driver = real_driver())
        check_context_put_back(driver);
}

TEST_CASE("a context that is current already is not set again", "[cuda]") {
    const auto driver = fake_driver();
    const auto device = open_device(driver);
    REQUIRE(driver->cuCtxSetCurrent(device->native_context()) == cuda::CUresult::success);
    const std::uint64_t before = fake_cuda().calls("cuCtxSetCurrent");

    call_all(*device);

    CHECK(fake_cuda().calls("cuCtxSetCurrent") == before);
    REQUIRE(driver->cuCtxSetCurrent(nullptr) == cuda::CUresult::success);
}

TEST_CASE("a context that cannot be made current refuses the call", "[cuda]") {
    const auto device = open_device(fake_driver());
    fake_cuda().fail("cuCtxSetCurrent", 1, 709);
    const std::uint64_t calls = fake_cuda().calls("cuMemAlloc_v2");

    const auto refused = device->malloc(1_MiB);

    REQUIRE(!refused);
    CHECK(refused.error().status == DeviceStatus::lost);
    CHECK(fake_cuda().calls("cuMemAlloc_v2") == calls);
    CHECK(device->explain(refused.error()).what.find("cuCtxSetCurrent(0x") != std::string::npos);
}

TEST_CASE("devices are apart", "[cuda]") {
    const auto driver = fake_driver({.devices = 2});
    auto first = open_device(driver, {.ordinal = 0});
    auto second = open_device(driver, {.ordinal = 1});
    CHECK(first->ordinal() == 0);
    CHECK(second->ordinal() == 1);
    CHECK(first->native_context() != second->native_context());
    REQUIRE(driver->cuCtxSetCurrent(second->native_context()) == cuda::CUresult::success);

    const Bytes free_there = second->memory().free;
    const Address here = must(*first, first->malloc(64_MiB));
    const PhysicalId handle = must(*second, second->create({}, 32_MiB));

    CHECK(current(*driver) == second->native_context());
    CHECK(first->memory().free + 64_MiB <= first->memory().total);
    CHECK(second->memory().free + 32_MiB == free_there);
    must(*first, first->free(here));
    must(*second, second->release(handle));
    call_all(*first);
    call_all(*second);
    first.reset();
    call_all(*second);  // closing one leaves the other
    REQUIRE(driver->cuCtxSetCurrent(nullptr) == cuda::CUresult::success);
    second.reset();
    CHECK(fake_cuda().leaks_text() == "");
}

TEST_CASE("two devices on one GPU share its primary context", "[cuda]") {
    const auto driver = fake_driver();
    auto first = open_device(driver);
    auto second = open_device(driver);
    CHECK(first->native_context() == second->native_context());
    const Address memory = must(*first, first->malloc(1_MiB));

    first.reset();

    must(*second, second->fill(memory, 0, 1_MiB, kStream));
    must(*second, second->free(memory));
}

TEST_CASE("an ordinal that there is not is refused by name", "[cuda]") {
    const auto driver = fake_driver({.devices = 2});
    for (const int ordinal : {-1, 2}) {
        const auto device = CudaDevice::open(driver, {.ordinal = ordinal});
        REQUIRE(!device);
        CHECK(device.error().code == ErrorCode::not_found);
        CHECK(device.error().where == "cuda:" + std::to_string(ordinal));
        CHECK(device.error().what.find("there are 2") != std::string::npos);
    }
}

TEST_CASE("the lowest free memory is what growing calls left behind", "[cuda]") {
    const auto device = open_device(fake_driver(), {.track_memory = true});
    const Bytes before = device->memory().free;
    CHECK(device->lowest_free() == before);

    const Address memory = must(*device, device->malloc(64_MiB));
    must(*device, device->free(memory));
    const PhysicalId handle = must(*device, device->create({}, 32_MiB));
    must(*device, device->release(handle));

    CHECK(device->memory().free == before);
    CHECK(device->lowest_free() == before - 64_MiB);
    CHECK(open_device(fake_driver())->lowest_free() == 0);
}

void use_from_threads(CudaDevice& device) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (std::uint32_t id = 1; id <= 4; ++id) {
        threads.emplace_back([&device, &wrong, id] {
            const StreamId own{id};
            for (std::uint32_t i = 0; i < 200; ++i) {
                const auto memory = device.malloc(4_KiB);
                if (!memory || !device.write_pattern(*memory, id * 1000 + i, 4_KiB, own) ||
                    device.check_pattern(*memory, id * 1000 + i, 4_KiB, own).value_or(1) != 0)
                    ++wrong;
                const auto point = device.record(own);
                if (!point || !device.wait(StreamId{id % 4 + 1}, *point) ||
                    !device.complete(*point) || !device.free(*memory))
                    ++wrong;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(wrong == 0);
    CHECK(device.counters().calls[static_cast<std::size_t>(DeviceCall::malloc)] == 800);
}

TEST_CASE("threads use one device side by side", "[cuda]") {
    on_fake(use_from_threads);
}

TEST_CASE("threads use one device side by side on the real driver", "[cuda][gpu]") {
    if (real_driver())
        on_gpu(use_from_threads);
}

}  // namespace
}  // namespace tidemark
