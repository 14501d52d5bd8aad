// What the CUDA device adds to the driver, and how fast contents are checked: figures on the real
// driver, with bounds wide enough for any machine.
#include "tests/backends/cuda/machines.h"
#include "tests/support/device.h"

namespace tidemark {
namespace {

using namespace support;

TEST_CASE("contents are checked at the speed of memory", "[cuda][gpu]") {
    if (!real_driver())
        return;
    const auto device = open_device(real_driver());
    constexpr Bytes kSize = 4_GiB;
    const Address memory = must(*device, device->malloc(kSize));
    must(*device, device->write_pattern(memory, 3, kSize, kStream));
    CHECK(must(*device, device->check_pattern(memory, 3, kSize, kStream)) == 0);  // compiles

    const Nanoseconds begin = device->now();
    constexpr int kTimes = 5;
    for (int i = 0; i < kTimes; ++i)
        CHECK(must(*device, device->check_pattern(memory, 3, kSize, kStream)) == 0);
    const Nanoseconds each = (device->now() - begin) / kTimes;

    const auto rate = static_cast<double>(kSize) / static_cast<double>(each);
    WARN("check_pattern: " << rate << " GB/s");
    CHECK(rate > 50);
    must(*device, device->free(memory));
}

// The mean of `times` calls of `call`, in nanoseconds.
template <class Call>
Nanoseconds mean(const CudaDevice& device, int times, Call call) {
    const Nanoseconds begin = device.now();
    for (int i = 0; i < times; ++i)
        call();
    return (device.now() - begin) / times;
}

TEST_CASE("the device adds little to the driver", "[cuda][gpu]") {
    const auto driver = real_driver();
    if (!driver)
        return;
    const auto device = open_device(driver);
    cuda::CUevent event = nullptr;
    REQUIRE(driver->cuCtxSetCurrent(device->native_context()) == cuda::CUresult::success);
    REQUIRE(driver->cuEventCreate(&event, cuda::kEventDisableTiming) == cuda::CUresult::success);
    cuda::CUstream stream = nullptr;
    REQUIRE(driver->cuStreamCreate(&stream, cuda::kStreamNonBlocking) == cuda::CUresult::success);
    constexpr int kTimes = 20'000;
    const auto bare = [&] {
        static_cast<void>(driver->cuEventRecord(event, stream));
        static_cast<void>(driver->cuEventQuery(event));
    };
    const auto ours = [&] { static_cast<void>(device->complete(*device->record(kStream))); };
    mean(*device, kTimes, bare);
    mean(*device, kTimes, ours);
    const Nanoseconds bare_ns = mean(*device, kTimes, bare);
    const Nanoseconds ours_ns = mean(*device, kTimes, ours);
    const EventId passed = *device->record(kStream);
    must(*device, device->synchronize(kStream));
    const Nanoseconds known_ns =
        mean(*device, kTimes, [&] { static_cast<void>(device->complete(passed)); });
    REQUIRE(driver->cuCtxSetCurrent(nullptr) == cuda::CUresult::success);
    const Nanoseconds foreign_ns =
        mean(*device, kTimes, [&] { static_cast<void>(device->complete(passed)); });

    WARN("record + complete: " << ours_ns << " ns, the driver's own " << bare_ns
                               << " ns; complete of a point known to have passed: " << known_ns
                               << " ns, with another context current " << foreign_ns << " ns");
    CHECK(ours_ns < bare_ns + 5'000);
    static_cast<void>(driver->cuEventDestroy_v2(event));
    static_cast<void>(driver->cuStreamDestroy_v2(stream));
}

}  // namespace
}  // namespace tidemark
