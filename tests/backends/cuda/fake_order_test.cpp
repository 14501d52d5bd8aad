// The fake CUDA driver's order: streams, events, contexts, capture, and the failures that a test
// asks for.
#include <array>
#include <thread>

#include <catch2/catch.hpp>

#include "backends/cuda/cuda_kernels.h"
#include "core/base/units.h"
#include "tests/backends/cuda/fake/fake_driver.h"

namespace tidemark::cuda {
namespace {

using fake::Config;
using fake::Failure;
using fake::FakeDriver;
using fake::word_at;

CUstream make_stream(const FakeDriver& fake) {
    CUstream stream = nullptr;
    REQUIRE(fake->cuStreamCreate(&stream, kStreamNonBlocking) == CUresult::success);
    return stream;
}

CUevent make_event(const FakeDriver& fake) {
    CUevent event = nullptr;
    REQUIRE(fake->cuEventCreate(&event, kEventDisableTiming) == CUresult::success);
    return event;
}

CUdeviceptr allocate(const FakeDriver& fake, std::size_t size) {
    CUdeviceptr address = 0;
    REQUIRE(fake->cuMemAlloc_v2(&address, size) == CUresult::success);
    return address;
}

}  // namespace

TEST_CASE("work of the fake waits until it is told to go on", "[cuda][fake]") {
    FakeDriver fake(Config{.by_hand = 1});
    const CUdeviceptr memory = allocate(fake, 4096);
    const std::array streams{make_stream(fake), make_stream(fake)};
    const CUevent event = make_event(fake);

    REQUIRE(fake->cuMemsetD32Async(memory, 1, 1, streams[0]) == CUresult::success);
    REQUIRE(fake->cuEventRecord(event, streams[0]) == CUresult::success);
    REQUIRE(fake->cuStreamWaitEvent(streams[1], event, 0) == CUresult::success);
    REQUIRE(fake->cuMemsetD32Async(memory, 2, 1, streams[1]) == CUresult::success);
    CHECK(fake->cuEventQuery(event) == CUresult::not_ready);
    CHECK(fake.control.pending() == 4);

    SECTION("by hand") {
        CHECK(fake.control.progress(1) == 1);
        CHECK(word_at(fake, memory) == 1);
        CHECK(fake->cuEventQuery(event) == CUresult::not_ready);
        CHECK(fake.control.progress() == 3);
        CHECK(fake->cuEventQuery(event) == CUresult::success);
        CHECK(fake->cuStreamQuery(streams[1]) == CUresult::success);
    }
    SECTION("because somebody waits for the other stream") {
        CHECK(fake->cuStreamSynchronize(streams[1]) == CUresult::success);
        CHECK(fake.control.pending() == 0);
    }
    SECTION("because memory is freed") {
        CHECK(fake->cuMemFree_v2(memory) == CUresult::success);
        CHECK(fake.control.pending() == 0);
        return;
    }
    CHECK(word_at(fake, memory) == 2);
}

TEST_CASE("the default stream of the fake keeps order with streams made to wait for it",
          "[cuda][fake]") {
    FakeDriver fake(Config{.by_hand = 1});
    const CUdeviceptr memory = allocate(fake, 4096);
    CUstream waits = nullptr;
    REQUIRE(fake->cuStreamCreate(&waits, 0) == CUresult::success);
    const CUstream free = make_stream(fake);
    REQUIRE(fake->cuMemsetD32Async(memory, 1, 1, waits) == CUresult::success);
    REQUIRE(fake->cuMemsetD32Async(memory + 64, 1, 1, free) == CUresult::success);
    REQUIRE(fake->cuMemsetD32Async(memory, 2, 1, nullptr) == CUresult::success);
    REQUIRE(fake->cuStreamSynchronize(nullptr) == CUresult::success);
    CHECK(word_at(fake, memory) == 2);
    CHECK(word_at(fake, memory + 64) == 0);
}

TEST_CASE("pooled memory of the fake goes to another stream only when its free has passed",
          "[cuda][fake]") {
    FakeDriver fake(Config{.by_hand = 1});
    const std::array streams{make_stream(fake), make_stream(fake)};
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    REQUIRE(fake->cuMemAllocAsync(&first, 1_MiB, streams[0]) == CUresult::success);
    REQUIRE(fake->cuMemFreeAsync(first, streams[0]) == CUresult::success);
    REQUIRE(fake->cuMemAllocAsync(&second, 1_MiB, streams[1]) == CUresult::success);
    CHECK(second != first);
    REQUIRE(fake->cuMemAllocAsync(&second, 1_MiB, streams[0]) == CUresult::success);
    CHECK(second == first);
    REQUIRE(fake->cuMemFreeAsync(first, streams[0]) == CUresult::success);
    fake.control.progress();
    REQUIRE(fake->cuMemAllocAsync(&second, 1_MiB, streams[1]) == CUresult::success);
    CHECK(second == first);
}

TEST_CASE("work of the fake whose memory is gone faults, and the context stays lost",
          "[cuda][fake]") {
    FakeDriver fake(Config{.by_hand = 1});
    CUmemAllocationProp wanted;
    wanted.location = {CUmemLocationType::device, 0};
    const CUmemAccessDesc access{{CUmemLocationType::device, 0}, CUmemAccess_flags::read_write};
    CUdeviceptr memory = 0;
    CUmemHandle handle = 0;
    REQUIRE(fake->cuMemAddressReserve(&memory, 2_MiB, 0, 0, 0) == CUresult::success);
    REQUIRE(fake->cuMemCreate(&handle, 2_MiB, &wanted, 0) == CUresult::success);
    REQUIRE(fake->cuMemMap(memory, 2_MiB, 0, handle, 0) == CUresult::success);
    REQUIRE(fake->cuMemSetAccess(memory, 2_MiB, &access, 1) == CUresult::success);
    REQUIRE(fake->cuMemsetD32Async(memory, 1, 1, nullptr) == CUresult::success);
    REQUIRE(fake->cuMemUnmap(memory, 2_MiB) == CUresult::success);

    CHECK(fake->cuStreamSynchronize(nullptr) == CUresult::illegal_address);
    CUdeviceptr other = 0;
    CHECK(fake->cuMemAlloc_v2(&other, 1) == CUresult::illegal_address);
    CHECK(fake->cuMemRelease(handle) == CUresult::success);  // it is no context's
    CHECK(fake->cuDevicePrimaryCtxRelease_v2(0) == CUresult::success);
    CUcontext again = nullptr;
    CHECK(fake->cuDevicePrimaryCtxRetain(&again, 0) == CUresult::illegal_address);
    CHECK(fake.control.leaks().abandoned == 0);
}

TEST_CASE("the fake counts the bytes that differ as Tidemark's kernel does", "[cuda][fake]") {
    FakeDriver fake;
    const CUdeviceptr memory = allocate(fake, 4096);
    const CUdeviceptr counter = allocate(fake, 8);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    REQUIRE(fake->cuModuleLoadData(&module, kKernels) == CUresult::success);
    CHECK(fake->cuModuleGetFunction(&function, module, "tidemark") == CUresult::not_found);
    REQUIRE(fake->cuModuleGetFunction(&function, module, kCountMismatches) == CUresult::success);
    REQUIRE(fake->cuMemsetD32Async(memory, 0x01020304, 1024, nullptr) == CUresult::success);
    REQUIRE(fake->cuMemsetD8Async(memory + 5, 9, 3, nullptr) == CUresult::success);
    REQUIRE(fake->cuMemsetD32Async(counter, 0, 2, nullptr) == CUresult::success);

    CUdeviceptr target = memory;
    std::uint64_t size = 4093;
    CUdeviceptr at = counter;
    std::uint32_t pattern = 0x01020304;
    std::array<void*, 4> parameters{&target, &size, &at, &pattern};
    REQUIRE(fake->cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, nullptr, parameters.data(),
                                 nullptr) == CUresult::success);
    CHECK(word_at(fake, counter) == 3);
    CHECK(fake->cuModuleUnload(module) == CUresult::success);
}

TEST_CASE("a capture of the fake records what is queued and does it at each launch",
          "[cuda][fake]") {
    FakeDriver fake;
    const CUdeviceptr memory = allocate(fake, 4096);
    const CUstream stream = make_stream(fake);
    REQUIRE(fake->cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::global) ==
            CUresult::success);
    REQUIRE(fake->cuMemcpyAsync(memory, memory + 64, 4, stream) == CUresult::success);
    CUgraph graph = nullptr;
    REQUIRE(fake->cuStreamEndCapture(stream, &graph) == CUresult::success);
    CUgraphExec executable = nullptr;
    REQUIRE(fake->cuGraphInstantiateWithFlags(&executable, graph, 0) == CUresult::success);
    CHECK(fake->cuGraphDestroy(graph) == CUresult::success);

    for (std::uint32_t value : {5u, 6u}) {
        REQUIRE(fake->cuMemsetD32Async(memory + 64, value, 1, stream) == CUresult::success);
        CHECK(word_at(fake, memory) != value);
        REQUIRE(fake->cuGraphLaunch(executable, stream) == CUresult::success);
        CHECK(word_at(fake, memory) == value);
    }
    CHECK(fake->cuGraphExecDestroy(executable) == CUresult::success);
    CHECK(fake->cuGraphLaunch(executable, stream) == CUresult::invalid_handle);
}

TEST_CASE("a call that may wait spoils the fake's capture, unless the thread is relaxed",
          "[cuda][fake]") {
    FakeDriver fake;
    const CUstream stream = make_stream(fake);
    CUdeviceptr memory = 0;
    CUgraph graph = nullptr;
    REQUIRE(fake->cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::global) ==
            CUresult::success);
    SECTION("a thread that is relaxed may allocate") {
        CUstreamCaptureMode mode = CUstreamCaptureMode::relaxed;
        REQUIRE(fake->cuThreadExchangeStreamCaptureMode(&mode) == CUresult::success);
        CHECK(mode == CUstreamCaptureMode::global);
        CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::success);
        REQUIRE(fake->cuThreadExchangeStreamCaptureMode(&mode) == CUresult::success);
        CHECK(fake->cuStreamEndCapture(stream, &graph) == CUresult::success);
        CHECK(graph != nullptr);
    }
    SECTION("another thread's allocation spoils it") {
        std::thread([&] {
            CHECK(fake->cuCtxSetCurrent(fake.context) == CUresult::success);
            CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::stream_capture_unsupported);
        }).join();
        CHECK(fake->cuStreamEndCapture(stream, &graph) == CUresult::stream_capture_invalidated);
        CHECK(graph == nullptr);
        CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::success);
    }
    SECTION("the whole context is waited for, whatever the thread's mode") {
        CUstreamCaptureMode mode = CUstreamCaptureMode::relaxed;
        REQUIRE(fake->cuThreadExchangeStreamCaptureMode(&mode) == CUresult::success);
        CHECK(fake->cuCtxSynchronize() == CUresult::stream_capture_unsupported);
        REQUIRE(fake->cuThreadExchangeStreamCaptureMode(&mode) == CUresult::success);
        CHECK(fake->cuStreamEndCapture(stream, &graph) == CUresult::stream_capture_invalidated);
    }
    SECTION("memory of a pool is asked for on another stream") {
        CHECK(fake->cuMemAllocAsync(&memory, 1, nullptr) == CUresult::stream_capture_unsupported);
        CHECK(fake->cuStreamEndCapture(stream, &graph) == CUresult::stream_capture_invalidated);
    }
    SECTION("the stream is waited for") {
        CHECK(fake->cuStreamSynchronize(stream) == CUresult::stream_capture_unsupported);
        CHECK(fake->cuMemAllocAsync(&memory, 1, stream) == CUresult::stream_capture_invalidated);
        CHECK(fake->cuStreamEndCapture(stream, &graph) == CUresult::stream_capture_invalidated);
    }
}

TEST_CASE("streams of the fake join a capture through events, and must come back", "[cuda][fake]") {
    FakeDriver fake;
    const CUdeviceptr memory = allocate(fake, 4096);
    const CUstream stream = make_stream(fake);
    const CUstream branch = make_stream(fake);
    const CUevent fork = make_event(fake);
    const CUevent back = make_event(fake);
    CUgraph graph = nullptr;
    REQUIRE(fake->cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::global) ==
            CUresult::success);
    REQUIRE(fake->cuEventRecord(fork, stream) == CUresult::success);
    REQUIRE(fake->cuStreamWaitEvent(branch, fork, 0) == CUresult::success);
    REQUIRE(fake->cuMemsetD32Async(memory, 1, 1, branch) == CUresult::success);
    SECTION("joined again") {
        REQUIRE(fake->cuEventRecord(back, branch) == CUresult::success);
        REQUIRE(fake->cuStreamWaitEvent(stream, back, 0) == CUresult::success);
        CHECK(fake->cuStreamEndCapture(stream, &graph) == CUresult::success);
        std::size_t nodes = 0;
        CHECK(fake->cuGraphGetNodes(graph, nullptr, &nodes) == CUresult::success);
        CHECK(nodes == 1);
    }
    SECTION("left apart") {
        CHECK(fake->cuStreamEndCapture(stream, &graph) == CUresult::stream_capture_unjoined);
    }
    SECTION("ended on the wrong stream") {
        CHECK(fake->cuStreamEndCapture(branch, &graph) == CUresult::stream_capture_unmatched);
    }
    SECTION("asked of an event in it") {
        CHECK(fake->cuEventQuery(fork) == CUresult::captured_event);
        CHECK(fake->cuStreamEndCapture(stream, &graph) == CUresult::stream_capture_invalidated);
        CHECK(fake->cuEventQuery(fork) == CUresult::invalid_value);
    }
}

TEST_CASE("a graph of the fake that keeps its allocation cannot be launched twice",
          "[cuda][fake]") {
    FakeDriver fake;
    const CUstream stream = make_stream(fake);
    REQUIRE(fake->cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::global) ==
            CUresult::success);
    CUdeviceptr memory = 0;
    REQUIRE(fake->cuMemAllocAsync(&memory, 4096, stream) == CUresult::success);
    REQUIRE(fake->cuMemsetD32Async(memory, 3, 1, stream) == CUresult::success);
    CUgraph graph = nullptr;
    REQUIRE(fake->cuStreamEndCapture(stream, &graph) == CUresult::success);
    const bool auto_free = GENERATE(false, true);
    CUgraphExec executable = nullptr;
    REQUIRE(fake->cuGraphInstantiateWithFlags(
                &executable, graph, auto_free ? kAutoFreeOnLaunch : 0) == CUresult::success);
    REQUIRE(fake->cuGraphLaunch(executable, stream) == CUresult::success);
    CHECK(word_at(fake, memory) == 3);
    CHECK(fake->cuGraphLaunch(executable, stream) ==
          (auto_free ? CUresult::success : CUresult::invalid_value));
    CHECK(fake->cuMemFreeAsync(memory, stream) == CUresult::success);
    CHECK(fake->cuGraphLaunch(executable, stream) == CUresult::success);
    CHECK(fake->cuMemFreeAsync(memory, stream) == CUresult::success);
    CHECK(fake->cuGraphExecDestroy(executable) == CUresult::success);
    CHECK(fake->cuGraphDestroy(graph) == CUresult::success);
    CHECK(fake->cuStreamDestroy_v2(stream) == CUresult::success);
    CHECK(fake.leaks().empty());
}

TEST_CASE("a call of the fake fails when it is told to, and changes nothing", "[cuda][fake]") {
    FakeDriver fake;
    CUdeviceptr memory = 0;
    fake.control.fail("cuMemAlloc_v2", 2, 2);
    CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::success);
    CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::out_of_memory);
    CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::success);
    CHECK(fake.control.failures() == 1);
    CHECK(fake.control.leaks().allocations == 2);
    CHECK(fake.control.calls("cuMemAlloc_v2") == 3);

    fake.control.fail("cuMemAlloc_v2", 1, 999, Failure::all);
    CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::unknown);
    CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::unknown);

    fake.control.fail("", 1, 700, Failure::lost);
    CHECK(fake->cuStreamSynchronize(nullptr) == CUresult::illegal_address);
    CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::illegal_address);
    CHECK(fake.control.failures() == 1);
}

TEST_CASE("the fake notices a thread without a context, and one whose context is gone",
          "[cuda][fake]") {
    FakeDriver fake;
    CUdeviceptr memory = 0;
    std::thread([&] {
        CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::invalid_context);
    }).join();
    REQUIRE(fake->cuMemAlloc_v2(&memory, 1) == CUresult::success);
    REQUIRE(fake->cuDevicePrimaryCtxRelease_v2(0) == CUresult::success);
    CHECK(fake->cuMemAlloc_v2(&memory, 1) == CUresult::context_is_destroyed);
    CHECK(fake.control.leaks_text() == "1 things that went with their context");
    REQUIRE(fake->cuCtxSetCurrent(fake.context) == CUresult::success);
    CHECK(fake->cuCtxSynchronize() == CUresult::context_is_destroyed);
}

TEST_CASE("handles of one context of the fake mean nothing in another", "[cuda][fake]") {
    FakeDriver fake(Config{.devices = 2});
    const CUstream stream = make_stream(fake);
    const CUevent event = make_event(fake);
    CUcontext other = nullptr;
    REQUIRE(fake->cuDevicePrimaryCtxRetain(&other, 1) == CUresult::success);
    REQUIRE(fake->cuCtxSetCurrent(other) == CUresult::success);
    CHECK(fake->cuStreamSynchronize(stream) == CUresult::invalid_handle);
    CHECK(fake->cuEventQuery(event) == CUresult::invalid_handle);
}

}  // namespace tidemark::cuda
