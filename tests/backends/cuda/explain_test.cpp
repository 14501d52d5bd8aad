// What a refusal tells a person: code, name, the driver's function with its arguments, and a hint.
#include <algorithm>

#include "tests/backends/cuda/machines.h"
#include "tests/support/device.h"

namespace tidemark {
namespace {

using namespace support;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("a refusal of the driver is explained with its call and arguments", "[cuda]") {
    const auto device = open_device(fake_driver());

    const Error error = device->explain(device->malloc(Bytes{1} << 40).error());

    CHECK(error.what ==
          "malloc: out of memory: cuMemAlloc_v2(&, 1099511627776) returned "
          "CUDA_ERROR_OUT_OF_MEMORY (2): " +
              device->driver().error_text(cuda::CUresult::out_of_memory));
    CHECK(error.where == "cuda:0");
    CHECK(has(error.hint, "nvidia-smi"));
    CHECK(error.code == ErrorCode::driver);
}

TEST_CASE("addresses, handles and numbers are told apart", "[cuda]") {
    const auto device = open_device(fake_driver());
    const Bytes page = device->granularity();
    const Range range = must(*device, device->reserve(page));
    const PhysicalId handle = must(*device, device->create({}, page));
    must(*device, device->map(range, handle));

    const Error error = device->explain(device->map(range, handle).error());

    CHECK(has(error.what, "cuMemMap(0x"));
    CHECK(has(error.what, ", 2097152, 0, "));
    must(*device, device->unmap(range));
    must(*device, device->release(handle));
    must(*device, device->unreserve(range));
}

TEST_CASE("a refusal of ours is explained without the driver", "[cuda]") {
    const auto device = open_device(fake_driver());
    const EventId point = must(*device, device->record(kStream));
    must(*device, device->begin_capture(kStream));

    const DeviceError refused = device->complete(point).error();

    CHECK(refused.native_code == 0);
    CHECK(device->explain(refused).what ==
          "complete: not permitted during capture: a stream is being captured");
    CHECK(has(device->explain(refused).hint, "capture"));
}

TEST_CASE("the first error of a lost device is told by every later one", "[cuda]") {
    const auto device = open_device(fake_driver());
    must(*device, device->record(kStream));
    fake_cuda().lose(0, 700);

    const DeviceError first = device->synchronize(kStream).error();
    const DeviceError later = device->malloc(1_MiB).error();

    CHECK(first.status == DeviceStatus::lost);
    CHECK(has(device->explain(first).what, "cuStreamSynchronize(0x"));
    CHECK(has(device->explain(first).what, "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
    CHECK(has(device->explain(first).hint, "compute-sanitizer"));
    CHECK(later.status == DeviceStatus::lost);
    CHECK(has(device->explain(later).what, "the device was lost before this call, by "));
    CHECK(has(device->explain(later).what, "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

TEST_CASE("an error that is no more remembered is explained by its code", "[cuda]") {
    const auto device = open_device(fake_driver());
    const DeviceError old = device->malloc(Bytes{1} << 40).error();
    for (int i = 0; i < 100; ++i)
        static_cast<void>(device->malloc(0));

    const Error error = device->explain(old);

    CHECK(has(error.what, "malloc: out of memory: CUDA_ERROR_OUT_OF_MEMORY (2)"));
    CHECK_FALSE(has(error.what, "cuMemAlloc"));
    CHECK(has(device->explain({DeviceStatus::fault, DeviceCall::copy, 31415}).what,
              "error 31415 (31415)"));
}

TEST_CASE("a driver that cannot be had says why", "[cuda]") {
    const auto missing = CudaDriver::open("/no/such/libcuda.so");
    REQUIRE(!missing);
    CHECK(missing.error().code == ErrorCode::not_found);
    CHECK(missing.error().where == "/no/such/libcuda.so");
    CHECK(has(missing.error().hint, "TIDEMARK_CUDA_DRIVER"));

    const auto other = CudaDriver::open("libm.so.6");  // a library, but no driver
    REQUIRE(!other);
    CHECK(other.error().what == "the driver has no function cuInit");

    fake_cuda().reset({});
    fake_cuda().fail("cuInit", 1, 100);
    const auto refused = CudaDriver::open(TIDEMARK_FAKE_CUDA);
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::driver);
    CHECK(has(refused.error().what, "cuInit says 100 (CUDA_ERROR_NO_DEVICE)"));
    CHECK(has(refused.error().hint, "CUDA_VISIBLE_DEVICES"));
}

TEST_CASE("the environment names the driver's library", "[cuda]") {
    fake_cuda().reset({});
    setenv("TIDEMARK_CUDA_DRIVER", TIDEMARK_FAKE_CUDA, 1);
    const auto driver = CudaDriver::open();
    unsetenv("TIDEMARK_CUDA_DRIVER");
    REQUIRE(driver);
    CHECK((*driver)->library() == TIDEMARK_FAKE_CUDA);
    CHECK((*driver)->version() == 13000);
    CHECK(cuda_version_text(12080) == "CUDA 12.8");
}

TEST_CASE("a function that the driver lacks is not supported", "[cuda]") {
    const CudaSymbol<cuda::CUresult(int)> absent{"cuNothing"};
    CHECK_FALSE(absent);
    CHECK(absent(1) == cuda::CUresult::not_supported);
}

TEST_CASE("what devices are here is read without a context", "[cuda]") {
    const auto driver = fake_driver({.devices = 3});
    const auto devices = cuda_devices(*driver);
    REQUIRE(devices);
    REQUIRE(devices->size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        const CudaDeviceInfo& info = (*devices)[i];
        CHECK(info.ordinal == static_cast<int>(i));
        CHECK_FALSE(info.name.empty());
        CHECK(info.uuid.size() == 40);
        CHECK(info.pci_address.size() == 12);
        CHECK(info.total_memory == 1_GiB);
        CHECK(info.granularity == 2_MiB);
        CHECK((info.virtual_memory && info.memory_pools && info.graphs && info.ipc));
        CHECK(info.peers.size() == 2);
        CHECK(std::count(info.peers.begin(), info.peers.end(), info.ordinal) == 0);
    }
    CHECK((*devices)[0].uuid != (*devices)[1].uuid);
    CHECK(fake_cuda().leaks().contexts == 0);
    CHECK(fake_cuda().calls("cuDevicePrimaryCtxRetain") == 0);
}

TEST_CASE("groups that a device lacks are refused before the driver is asked", "[cuda]") {
    const auto device = open_device(fake_driver({.vmm = 0, .pools = 0, .ipc = 0, .peers = 0}));
    CHECK_FALSE(device->has(Feature::virtual_memory));
    CHECK_FALSE(device->has(Feature::async_pool));
    CHECK_FALSE(device->has(Feature::peer_access));
    CHECK_FALSE(device->has(Feature::shared_memory));
    CHECK(device->has(Feature::copies));

    const std::uint64_t before = fake_cuda().calls("cuMemCreate");
    const DeviceStatus refused[] = {
        device->reserve(2_MiB).error().status,
        device->create({}, 2_MiB).error().status,
        device->malloc_async(1_MiB, kStream).error().status,
        device->set_pool_threshold(1).error().status,
        device->set_access_for({Location::Kind::device, 1}, {}, true).error().status,
        device->ipc_export(Address{4096}).error().status,
        device->ipc_open({}).error().status,
    };
    for (const DeviceStatus status : refused)
        CHECK(status == DeviceStatus::not_supported);
    CHECK(fake_cuda().calls("cuMemCreate") == before);
}

}  // namespace
}  // namespace tidemark
