// Facts about the driver that the simulator and the policies rely on, looked at on the GPU: what
// unmap and set_access take, aliases of one page, captured events, copies in batches, pools.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "tests/gpu/graph_work.h"
#include "tests/support/device.h"

using namespace tidemark;
using namespace tidemark::gpu;
using cuda::CUresult;
using support::kA;
using support::kB;

namespace {

template <class Outcome>
std::string text(const CudaDevice& device, const Outcome& outcome) {
    if (outcome)
        return "ok";
    return device.driver().error_name(static_cast<CUresult>(outcome.error().native_code));
}

std::string text(const CudaDevice& device, CUresult code) {
    return code == CUresult::success ? "ok" : device.driver().error_name(code);
}

cuda::CUstream native(CudaDevice& device, StreamId stream) {
    return reinterpret_cast<cuda::CUstream>(device.native(stream).value());
}

// Pages of 2 MiB, mapped one after another from `at` on.
std::vector<PhysicalId> map_pages(CudaDevice& device, Address at, int count) {
    std::vector<PhysicalId> pages;
    for (int i = 0; i < count; ++i) {
        pages.push_back(device.create({}, 2_MiB).value());
        REQUIRE(device.map({at + static_cast<Bytes>(i) * 2_MiB, 2_MiB}, pages.back()));
    }
    return pages;
}

void release(CudaDevice& device, const std::vector<PhysicalId>& pages) {
    for (const PhysicalId page : pages)
        REQUIRE(device.release(page));
}

}  // namespace

TEST_CASE("unmap and set_access take several whole mappings, and no part of one", "[gpu]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    const Range range = device->reserve(32_MiB).value();
    const std::vector<PhysicalId> pages = map_pages(*device, range.begin, 4);
    const Range three{range.begin, 6_MiB};
    const auto access = device->set_access(three, true);
    seen("set_access over three mappings of four", text(*device, access));
    CHECK(access);
    const auto hole = device->set_access({range.begin, 32_MiB}, true);
    seen("set_access over mappings and a hole", text(*device, hole));
    CHECK_FALSE(hole);
    const auto unmapped = device->unmap(three);
    seen("unmap of three whole mappings in one call", text(*device, unmapped));
    CHECK(unmapped);
    const auto over_hole = device->unmap({range.begin, 8_MiB});
    seen("unmap over a hole and a mapping", text(*device, over_hole));
    if (!over_hole)
        REQUIRE(device->unmap({range.begin + 6_MiB, 2_MiB}));
    release(*device, pages);

    const PhysicalId large = device->create({}, 8_MiB).value();
    REQUIRE(device->map({range.begin, 8_MiB}, large));
    const auto part_access = device->set_access({range.begin, 2_MiB}, true);
    seen("set_access on a part of a mapping", text(*device, part_access));
    const auto part = device->unmap({range.begin, 2_MiB});
    seen("unmap of a part of a mapping", text(*device, part));
    CHECK_FALSE(part);
    REQUIRE(device->unmap({range.begin, 8_MiB}));
    REQUIRE(device->release(large));
    REQUIRE(device->unreserve(range));
}

TEST_CASE("adjacent reservations are two, for calls that span them", "[gpu]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    const CudaDriver& driver = device->driver();
    const Range first = device->reserve(32_MiB).value();
    const Range plain = device->reserve(32_MiB).value();
    seen("the next reservation lies",
         fmt::format("{:+} KiB from the end of the one before",
                     (static_cast<std::int64_t>(to_integer(plain.begin)) -
                      static_cast<std::int64_t>(to_integer(first.begin + first.size))) /
                         1024));
    REQUIRE(device->unreserve(plain));
    cuda::CUdeviceptr second = 0;
    const std::uint64_t end = to_integer(first.begin) + first.size;
    REQUIRE(driver.cuMemAddressReserve(&second, 32_MiB, 0, end, 0) == CUresult::success);
    seen("a reservation asked for at the end of another", second == end ? "is there" : "is not");
    if (second == end) {
        const Range both{first.begin + 30_MiB, 4_MiB};
        const std::vector<PhysicalId> pages = map_pages(*device, both.begin, 2);
        seen("set_access over both", text(*device, device->set_access(both, true)));
        const PhysicalId large = device->create({}, 4_MiB).value();
        const auto unmapped = device->unmap(both);
        seen("unmap over both", text(*device, unmapped));
        if (!unmapped) {
            REQUIRE(device->unmap({both.begin, 2_MiB}));
            REQUIRE(device->unmap({both.begin + 2_MiB, 2_MiB}));
        }
        const auto mapped = device->map(both, large);
        seen("map of one handle over both", text(*device, mapped));
        if (mapped)
            REQUIRE(device->unmap(both));
        REQUIRE(device->release(large));
        release(*device, pages);
    }
    CHECK(driver.cuMemAddressFree(second, 32_MiB) == CUresult::success);
    CHECK(device->unreserve(first));
}

TEST_CASE("what is written through one alias is read through another after an event", "[gpu]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    const std::unique_ptr<GraphWork> work = make_kernel_work(*device);
    const Range range = device->reserve(32_MiB).value();
    const PhysicalId page = device->create({}, 2_MiB).value();
    const Address one = range.begin;
    const Address two = range.begin + 8_MiB;
    for (const Address alias : {one, two}) {
        REQUIRE(device->map({alias, 2_MiB}, page));
        REQUIRE(device->set_access({alias, 2_MiB}, true));
    }
    Random random(11);
    constexpr int kTimes = 10'000;
    for (int i = 0; i < kTimes; ++i) {
        const bool swapped = random.below(2) != 0;
        const Bytes size = 4 * (1 + random.below(2_MiB / 4));
        const auto seed = static_cast<std::uint32_t>(random.next());
        work->fill(swapped ? two : one, size, seed, kA);
        REQUIRE(device->wait(kB, device->record(kA).value()));
        work->check(swapped ? one : two, {1, seed}, {0, 0}, size, kB);
        REQUIRE(device->wait(kA, device->record(kB).value()));
    }
    const std::uint64_t wrong = work->wrong();
    seen("written through one address, read through another, 10,000 times",
         fmt::format("{} words wrong", wrong));
    CHECK(wrong == 0);
    for (const Address alias : {one, two})
        REQUIRE(device->unmap({alias, 2_MiB}));
    REQUIRE(device->release(page));
    REQUIRE(device->unreserve(range));
}

TEST_CASE("the driver refuses to ask about captured events, or to wait across a capture", "[gpu]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    const CudaDriver& driver = device->driver();
    const cuda::CUstream stream = native(*device, kA);
    const cuda::CUstream other = native(*device, kB);
    cuda::CUevent event{};
    cuda::CUevent outside{};
    REQUIRE(driver.cuEventCreate(&event, cuda::kEventDisableTiming) == CUresult::success);
    REQUIRE(driver.cuEventCreate(&outside, cuda::kEventDisableTiming) == CUresult::success);
    REQUIRE(driver.cuEventRecord(outside, other) == CUresult::success);
    REQUIRE(device->synchronize_device());
    const auto capture = [&](const char* what, auto ask) {
        REQUIRE(driver.cuStreamBeginCapture_v2(
                    stream, cuda::CUstreamCaptureMode::thread_local_mode) == CUresult::success);
        REQUIRE(driver.cuEventRecord(event, stream) == CUresult::success);
        const CUresult answer = ask();
        cuda::CUgraph graph{};
        const CUresult ended = driver.cuStreamEndCapture(stream, &graph);
        if (graph != nullptr)
            REQUIRE(driver.cuGraphDestroy(graph) == CUresult::success);
        seen(what, text(*device, answer) + ", the capture's end: " + text(*device, ended));
        return answer;
    };
    CHECK(capture("captured: event recorded, nothing asked", [] { return CUresult::success; }) ==
          CUresult::success);
    seen("  query of the captured event when the capture is over",
         text(*device, driver.cuEventQuery(event)));
    seen("  wait for it on another stream",
         text(*device, driver.cuStreamWaitEvent(other, event, 0)));
    CHECK(capture("captured: query of the captured event",
                  [&] { return driver.cuEventQuery(event); }) != CUresult::success);
    capture("captured: query of a complete event from outside",
            [&] { return driver.cuEventQuery(outside); });
    capture("captured: query of another stream", [&] { return driver.cuStreamQuery(other); });
    CHECK(capture("captured: wait for a complete event from outside", [&] {
              return driver.cuStreamWaitEvent(stream, outside, 0);
          }) != CUresult::success);
    CHECK(capture("captured: synchronize the captured stream",
                  [&] { return driver.cuStreamSynchronize(stream); }) != CUresult::success);
    CHECK(capture("captured: another stream joins and is not waited for", [&] {
              const CUresult joined = driver.cuStreamWaitEvent(other, event, 0);
              REQUIRE(driver.cuEventRecord(outside, other) == CUresult::success);
              return joined;
          }) == CUresult::success);
    const Address memory = device->malloc(512).value();
    capture("captured: another stream joins, gets work, and is not waited for", [&] {
        REQUIRE(driver.cuStreamWaitEvent(other, event, 0) == CUresult::success);
        return driver.cuMemsetD8Async(to_integer(memory), 0, 512, other);
    });
    REQUIRE(device->free(memory));
    seen("begin_capture of the default stream",
         text(*device, driver.cuStreamBeginCapture_v2(
                           nullptr, cuda::CUstreamCaptureMode::thread_local_mode)));
    CHECK(driver.cuEventDestroy_v2(event) == CUresult::success);
    CHECK(driver.cuEventDestroy_v2(outside) == CUresult::success);
    REQUIRE(device->synchronize_device());
}

TEST_CASE("the first stream-ordered allocation of a device may be in a capture", "[gpu]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    REQUIRE(device->begin_capture(kA));
    const auto address = device->malloc_async(512, kA);
    if (!address)
        FAIL(device->explain(address.error()).what);
    REQUIRE(device->free_async(*address, kA));
    const auto graph = device->end_capture(kA);
    INFO(text(*device, graph));
    REQUIRE(graph);
    CHECK(device->launch(*graph, kA));
    CHECK(device->synchronize_device());
    CHECK(device->destroy_graph(*graph));
}

TEST_CASE("a launch costs its caller more with each step", "[gpu]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    const Address memory = device->malloc(1_MiB).value();
    std::vector<Nanoseconds> medians;
    for (const int steps : {1, 10, 100, 1000}) {
        const Stopwatch capturing;
        REQUIRE(device->begin_capture(kA));
        for (int i = 0; i < steps; ++i)
            REQUIRE(device->fill(memory, 0, 512, kA));
        const GraphId graph = device->end_capture(kA).value();
        const Nanoseconds captured = capturing.elapsed();
        std::vector<Nanoseconds> times;
        for (int i = 0; i < 201; ++i) {
            const Stopwatch watch;
            REQUIRE(device->launch(graph, kA));
            times.push_back(watch.elapsed());
            REQUIRE(device->synchronize(kA));
        }
        std::ranges::sort(times);
        medians.push_back(times[times.size() / 2]);
        seen("a graph of fills",
             fmt::format("{} steps: captured in {:.1f} us, launched in {:.2f} us", steps,
                         static_cast<double>(captured) / 1000,
                         static_cast<double>(medians.back()) / 1000));
        REQUIRE(device->destroy_graph(graph));
    }
    CHECK(medians.front() < medians.back());
    REQUIRE(device->free(memory));
}

TEST_CASE("copies in batches are for other streams than the default one", "[gpu]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    const CudaDriver& driver = device->driver();
    const Address memory = device->malloc(4_MiB).value();
    cuda::CUdeviceptr targets[] = {to_integer(memory), to_integer(memory + 1_MiB)};
    cuda::CUdeviceptr sources[] = {to_integer(memory + 2_MiB), to_integer(memory + 3_MiB)};
    std::size_t sizes[] = {4096, 4096};
    cuda::CUmemcpyAttributes attributes;
    attributes.source_access_order = cuda::CUmemcpySrcAccessOrder::stream;
    std::size_t first = 0;
    const auto queue = [&](cuda::CUstream stream) {
        if (driver.cuMemcpyBatchAsync_v2)
            return driver.cuMemcpyBatchAsync_v2(targets, sources, sizes, 2, &attributes, &first, 1,
                                                stream);
        std::size_t failed = 0;
        return driver.cuMemcpyBatchAsync(targets, sources, sizes, 2, &attributes, &first, 1,
                                         &failed, stream);
    };
    seen("batch of copies on the default stream", text(*device, queue(nullptr)));
    const CUresult done = queue(native(*device, kA));
    seen("batch of copies on another stream", text(*device, done));
    CHECK((done == CUresult::success || done == CUresult::not_supported));
    REQUIRE(device->synchronize_device());
    REQUIRE(device->free(memory));
}

TEST_CASE("a pool of stream-ordered memory is primed by one large request", "[gpu]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    const Bytes free = device->memory().free;
    const auto too_much = device->malloc_async(free + 1_GiB, kA);
    seen("malloc_async of more than is free", text(*device, too_much));
    CHECK_FALSE(too_much);
    REQUIRE(device->set_pool_threshold(~Bytes{0} >> 1));
    const auto timed = [&](Bytes size) {
        const Stopwatch watch;
        const Address address = device->malloc_async(size, kA).value();
        REQUIRE(device->synchronize(kA));
        const Nanoseconds taken = watch.elapsed();
        REQUIRE(device->free_async(address, kA));
        REQUIRE(device->synchronize(kA));
        return fmt::format("{:.3f} ms", static_cast<double>(taken) / 1e6);
    };
    const Bytes most = free / 10 * 9 / 1_GiB * 1_GiB;
    seen("priming with nine tenths of what is free",
         fmt::format("{} GiB in {}", most / 1_GiB, timed(most)));
    seen("  a GiB of it then", timed(1_GiB));
    seen("  as much again", timed(most));
    REQUIRE(device->trim_pool(0));
}
