// Captures that others begin: the device notices them on streams that it was shown, and never
// spoils them.
#include <thread>

#include "tests/backends/cuda/machines.h"
#include "tests/backends/cuda/own_stream.h"
#include "tests/support/device.h"

namespace tidemark {
namespace {

using namespace support;
using cuda::CUresult;

// All that could spoil a capture of another's stream, in the strictest mode.
void check_foreign_capture(CudaDevice& device) {
    const Address memory = must(device, device.malloc(1_MiB));
    const EventId before = must(device, device.record(kStream));
    {
        OwnStream own{device};
        const StreamId adopted = device.adopt(own.handle());
        CHECK(device.adopt(own.handle()) == adopted);
        CHECK_FALSE(device.capturing());
        own.begin(cuda::CUstreamCaptureMode::global);
        CHECK(device.capturing());

        CHECK(device.complete(before).error().status == DeviceStatus::not_permitted);
        CHECK(device.synchronize(adopted).error().status == DeviceStatus::not_permitted);
        CHECK(device.free(memory).error().status == DeviceStatus::not_permitted);
        must(device, device.fill(memory, 1, 1_MiB, adopted));
        const EventId inside = must(device, device.record(adopted));
        must(device, device.wait(StreamId{5}, inside));  // forks to a stream of ours
        CHECK(device.wait(adopted, before).error().status == DeviceStatus::not_permitted);
        must(device, device.wait(adopted, must(device, device.record(StreamId{5}))));
        for (int i = 0; i < 100; ++i)  // many points: none of them may be asked about
            must(device, device.record(kStream));
        const Address more = must(device, device.malloc(4_MiB));
        const Range range = must(device, device.reserve(device.granularity()));
        const PhysicalId handle = must(device, device.create({}, device.granularity()));
        must(device, device.map(range, handle));
        must(device, device.set_access(range, true));
        must(device, device.unmap(range));
        must(device, device.release(handle));
        must(device, device.unreserve(range));
        must(device, device.host_malloc(4_KiB));

        CHECK(own.end());  // it was not spoilt
        CHECK_FALSE(device.capturing());
        CHECK(must(device, device.complete(inside)));
        must(device, device.free(more));
        must(device, device.synchronize(adopted));
        device.disown(adopted);
        CHECK(device.record(adopted).error().status == DeviceStatus::invalid_value);
        CHECK(must(device, device.complete(inside)));
        CHECK(device.adopt(own.handle()) != adopted);
        device.disown(device.adopt(own.handle()));
    }
    must(device, device.free(memory));
    must(device, device.synchronize_device());
}

TEST_CASE("a capture of another's stream is seen and not spoilt", "[cuda]") {
    const auto device = open_device(fake_driver());
    check_foreign_capture(*device);
}

TEST_CASE("a capture of another's stream is seen and not spoilt on the real driver",
          "[cuda][gpu]") {
    const auto driver = real_driver();
    if (!driver)
        return;
    const auto device = open_device(driver);
    check_foreign_capture(*device);
}

TEST_CASE("a stream that was lent out is watched", "[cuda]") {
    const auto device = open_device(fake_driver());
    const auto& driver = device->driver();
    const std::uintptr_t native = must(*device, device->native(kStream));
    CHECK(native != 0);
    CHECK(device->adopt(native) == kStream);  // it is ours
    CHECK(must(*device, device->native(StreamId::default_stream)) == 0);
    CHECK(device->adopt(0) == StreamId::default_stream);
    CHECK(device->adopt(1) == StreamId::default_stream);
    const auto stream = reinterpret_cast<cuda::CUstream>(native);
    REQUIRE(driver.cuCtxSetCurrent(device->native_context()) == CUresult::success);

    REQUIRE(driver.cuStreamBeginCapture_v2(stream, cuda::CUstreamCaptureMode::relaxed) ==
            CUresult::success);
    CHECK(device->capturing());
    cuda::CUgraph graph = nullptr;
    REQUIRE(driver.cuStreamEndCapture(stream, &graph) == CUresult::success);
    CHECK_FALSE(device->capturing());

    REQUIRE(driver.cuGraphDestroy(graph) == CUresult::success);
    REQUIRE(driver.cuCtxSetCurrent(nullptr) == CUresult::success);
}

// As the driver has it: the attempt is refused, and the capture is over.
void check_wrong_thread(CudaDevice& device) {
    must(device, device.begin_capture(kStream));

    DeviceStatus elsewhere{};
    std::thread{[&] { elsewhere = device.end_capture(kStream).error().status; }}.join();

    CHECK(elsewhere == DeviceStatus::not_permitted);
    CHECK_FALSE(device.capturing());
    CHECK_FALSE(device.end_capture(kStream));
    must(device, device.synchronize(kStream));
    must(device, device.begin_capture(kStream));  // and it can be made again
    must(device, device.destroy_graph(must(device, device.end_capture(kStream))));
}

TEST_CASE("a capture that another thread tries to end is lost", "[cuda]") {
    on_fake(check_wrong_thread);
}

TEST_CASE("a capture that another thread tries to end is lost on the real driver", "[cuda][gpu]") {
    if (!real_driver())
        return;
    const auto device = open_device(real_driver());
    check_wrong_thread(*device);
}

// A graph that allocates and does not free: launched again only if its memory is freed by that.
void check_auto_free(CudaDevice& device) {
    for (const bool auto_free : {false, true}) {
        must(device, device.begin_capture(kStream));
        const Address memory = must(device, device.malloc_async(1_MiB, kStream));
        must(device, device.fill(memory, 1, 1_MiB, kStream));
        const GraphId graph = must(device, device.end_capture(kStream, auto_free));

        must(device, device.launch(graph, kStream));
        must(device, device.synchronize(kStream));
        CHECK(device.launch(graph, kStream).has_value() == auto_free);

        must(device, device.synchronize(kStream));
        must(device, device.free_async(memory, kStream));
        must(device, device.synchronize(kStream));
        must(device, device.destroy_graph(graph));
    }
}

TEST_CASE("a graph's own memory is freed by the next launch where that was asked for", "[cuda]") {
    on_fake(check_auto_free);
}

TEST_CASE("a graph's own memory is freed by the next launch on the real driver", "[cuda][gpu]") {
    if (!real_driver())
        return;
    const auto device = open_device(real_driver());
    check_auto_free(*device);
}

}  // namespace
}  // namespace tidemark
