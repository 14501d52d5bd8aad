// The contract's part on streams, points, captures and counters.
#include "tests/backends/cuda/contract.h"
#include "tests/backends/cuda/machines.h"
#include "tests/support/device.h"

namespace tidemark::support {
void check_points(CudaDevice& device) {
    const EventId first = must(device, device.record(kStream));
    const EventId second = must(device, device.record(kStream));
    CHECK(first != second);
    must(device, device.wait(kOther, second));
    must(device, device.wait(kStream, second));  // its own past: nothing to do
    must(device, device.synchronize(kOther));
    CHECK(must(device, device.complete(second)));

    const std::uint64_t events = device.native_events();
    for (int i = 0; i < 1000; ++i) {
        const EventId point = must(device, device.record(kStream));
        must(device, device.synchronize(kStream));
        CHECK(must(device, device.complete(point)));
        CHECK(must(device, device.complete(first)));
    }
    CHECK(device.native_events() == events);

    must(device, device.fill(Address::null, 0, 0, kStream));
    const EventId last = must(device, device.record(kOther));
    must(device, device.synchronize_device());
    CHECK(must(device, device.complete(last)));
}

void check_capture(CudaDevice& device) {
    REQUIRE(device.has(Feature::capture));
    const Address memory = must(device, device.malloc(64_KiB));
    must(device, device.fill(memory, 1, 64_KiB, kStream));
    const EventId before = must(device, device.record(kStream));
    CHECK_FALSE(device.capturing());

    must(device, device.begin_capture(kStream));
    CHECK(device.capturing());
    must(device, device.write_pattern(memory, 0xabcd0123, 64_KiB, kStream));
    const EventId inside = must(device, device.record(kStream));
    const auto forbidden = {
        status_of(device.complete(before)),
        status_of(device.complete(inside)),
        status_of(device.synchronize(kStream)),
        status_of(device.synchronize_device()),
        status_of(device.free(memory)),
        status_of(device.trim_pool(0)),
        status_of(device.check_pattern(memory, 0, 4, kOther)),
    };
    for (const DeviceStatus refusal : forbidden)
        CHECK(refusal == DeviceStatus::not_permitted);
    const Address more = must(device, device.malloc(1_MiB));  // memory may still be made
    const PhysicalId handle = must(device, device.create({}, device.granularity()));
    must(device, device.release(handle));
    must(device, device.record(StreamId{9}));  // as may streams beside the capture
    const GraphId graph = must(device, device.end_capture(kStream));

    CHECK_FALSE(device.capturing());
    CHECK(must(device, device.check_pattern(memory, 0x01010101, 64_KiB, kStream)) == 0);
    CHECK(must(device, device.complete(inside)));
    for (int i = 0; i < 3; ++i) {
        must(device, device.fill(memory, 0, 64_KiB, kStream));
        must(device, device.launch(graph, kStream));
        CHECK(must(device, device.check_pattern(memory, 0xabcd0123, 64_KiB, kStream)) == 0);
    }
    must(device, device.launch(graph, kStream));
    must(device, device.destroy_graph(graph));  // its launch may still run
    CHECK(status_of(device.launch(graph, kStream)) == DeviceStatus::invalid_value);
    must(device, device.free(more));
    must(device, device.free(memory));
}

void check_capture_of_two_streams(CudaDevice& device) {
    const Address memory = must(device, device.malloc(2_KiB));
    must(device, device.fill(memory, 0, 2_KiB, StreamId::default_stream));
    must(device, device.synchronize_device());
    const EventId outside = must(device, device.record(StreamId{3}));

    must(device, device.begin_capture(kStream));
    const EventId fork = must(device, device.record(kStream));
    must(device, device.wait(kOther, fork));
    must(device, device.write_pattern(memory, 11, 1_KiB, kStream));
    must(device, device.write_pattern(memory + 1_KiB, 22, 1_KiB, kOther));
    CHECK(status_of(device.wait(kStream, outside)) == DeviceStatus::not_permitted);
    const EventId join = must(device, device.record(kOther));
    must(device, device.wait(kStream, join));
    const GraphId graph = must(device, device.end_capture(kStream));

    CHECK_FALSE(device.capturing());
    CHECK(must(device, device.check_pattern(memory, 0, 2_KiB, kStream)) == 0);
    must(device, device.launch(graph, kStream));
    CHECK(must(device, device.check_pattern(memory, 11, 1_KiB, kStream)) == 0);
    CHECK(must(device, device.check_pattern(memory + 1_KiB, 22, 1_KiB, kStream)) == 0);
    must(device, device.wait(kOther, fork));  // of a capture that is over: nothing to wait for
    must(device, device.record(kOther));
    must(device, device.synchronize(kOther));
    must(device, device.destroy_graph(graph));
    must(device, device.free(memory));
}

void check_failed_capture(CudaDevice& device) {
    CHECK(status_of(device.begin_capture(StreamId::default_stream)) == DeviceStatus::not_permitted);
    CHECK_FALSE(device.capturing());
    CHECK(!device.end_capture(kStream));

    must(device, device.begin_capture(kStream));
    const EventId fork = must(device, device.record(kStream));
    must(device, device.wait(kOther, fork));
    const Address memory = must(device, device.malloc(4));
    must(device, device.fill(memory, 1, 4, kOther));  // never joined
    CHECK(status_of(device.end_capture(kStream)) == DeviceStatus::not_permitted);

    CHECK_FALSE(device.capturing());
    must(device, device.record(kOther));
    must(device, device.synchronize(kOther));
    must(device, device.begin_capture(kStream));  // and it can be tried again
    must(device, device.destroy_graph(must(device, device.end_capture(kStream))));
    must(device, device.free(memory));
}

void check_counters(CudaDevice& device) {
    const Nanoseconds begin = device.now();
    const Address memory = must(device, device.malloc(1_MiB));
    must(device, device.free(memory));
    must(device, device.synchronize_device());
    static_cast<void>(device.malloc(0));
    must(device, device.native(kStream));  // none of the Device's calls

    const DeviceCounters& counters = device.counters();
    const auto calls = [&](DeviceCall call) {
        return counters.calls[static_cast<std::size_t>(call)];
    };
    CHECK(calls(DeviceCall::malloc) == 2);
    CHECK(calls(DeviceCall::free) == 1);
    CHECK(calls(DeviceCall::synchronize_device) == 1);
    CHECK(counters.total_calls() == 4);
    CHECK(counters.total_ns() > 0);
    CHECK(counters.stall_ns > 0);
    CHECK(counters.total_ns() + counters.stall_ns <= device.now() - begin);
}

}  // namespace tidemark::support
