// What becomes of memory that is allocated in stream order inside a capture (the way that arenas
// replace), in each way of using it: on the GPU, as it is seen. What the CUDA documentation
// promises is checked; the rest is printed, since a driver may do it otherwise.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/gpu/fault_child.h"
#include "tests/gpu/graph_work.h"
#include "tests/support/device.h"

using namespace tidemark;
using namespace tidemark::gpu;
using cuda::CUresult;
using support::kA;
using support::kB;

namespace {

constexpr Bytes kSize = 4_MiB;
constexpr std::uint64_t kElements = kSize / 4;

// A GPU with work, and the steps that the ways share.
struct Lab {
    std::unique_ptr<CudaDevice> device = open_gpu();
    std::unique_ptr<GraphWork> work = device ? make_kernel_work(*device) : nullptr;

    // The driver makes its pool and loads kernels at their first use: not in a capture.
    Lab() {
        if (!device)
            return;
        const Address warm = device->malloc_async(kSize, kA).value();
        work->fill(warm, kSize, 0, kA);
        work->combine(warm, {1, warm}, {0, warm}, kSize, kA);
        CHECK(wrong(warm, 0) == 0);
        REQUIRE(device->free_async(warm, kA));
        REQUIRE(device->synchronize_device());
    }

    template <class Outcome>
    std::string text(const Outcome& outcome) const {
        if (outcome)
            return "ok";
        const auto code = static_cast<CUresult>(outcome.error().native_code);
        return device->driver().error_name(code);
    }

    // How many words of `target` are not what a fill with `seed` wrote.
    std::uint64_t wrong(Address target, std::uint32_t seed, Bytes size = kSize) {
        work->check(target, {1, seed}, {0, 0}, size, kA);
        return work->wrong();
    }

    // A graph on kA of what `queue` queues.
    template <class Queue>
    GraphId capture(Queue queue, bool auto_free = false) {
        REQUIRE(device->begin_capture(kA));
        queue();
        const auto graph = device->end_capture(kA, auto_free);
        if (!graph)
            FAIL(text(graph));
        return *graph;
    }

    // A graph that fills memory of its own, `left` at its end, with what is at `in`.
    GraphId leaving(Address in, Address& left, bool auto_free) {
        return capture(
            [&] {
                left = device->malloc_async(kSize, kA).value();
                work->combine(left, {1, in}, {0, in}, kSize, kA);
            },
            auto_free);
    }

    std::string memory_text() const {
        const auto ask = [&](cuda::CUgraphMem_attribute attribute) {
            std::uint64_t bytes = 0;
            REQUIRE(device->driver().cuDeviceGetGraphMemAttribute(native(), attribute, &bytes) ==
                    CUresult::success);
            return bytes;
        };
        return fmt::format("used {} KiB, reserved {} KiB",
                           ask(cuda::CUgraphMem_attribute::used_mem_current) >> 10,
                           ask(cuda::CUgraphMem_attribute::reserved_mem_current) >> 10);
    }

    cuda::CUdevice native() const {
        cuda::CUdevice one = 0;
        REQUIRE(device->driver().cuDeviceGet(&one, device->ordinal()) == CUresult::success);
        return one;
    }

    CUresult trim() { return device->driver().cuDeviceGraphMemTrim(native()); }
};

std::string wrong_text(std::uint64_t elements) {
    return elements == 0 ? "right" : fmt::format("{} of {} words wrong", elements, kElements);
}

}  // namespace

TEST_CASE("memory that a graph leaves is live until its next launch or its free", "[gpu]") {
    Lab lab;
    if (!lab.device)
        return;
    CudaDevice& device = *lab.device;
    const Address in = device.malloc(kSize).value();
    Address left = Address::null;

    lab.work->fill(in, kSize, 1, kA);
    const GraphId plain = lab.leaving(in, left, false);
    REQUIRE(device.launch(plain, kA));
    CHECK(lab.wrong(left, 1) == 0);
    const auto again = device.launch(plain, kA);
    seen("left, no auto-free: second launch", lab.text(again));
    CHECK(lab.text(again) == "CUDA_ERROR_INVALID_VALUE");
    REQUIRE(device.free_async(left, kA));
    const auto after_free = device.launch(plain, kA);
    seen("left, no auto-free, freed by free_async: second launch", lab.text(after_free));
    CHECK(after_free);
    CHECK(lab.wrong(left, 1) == 0);
    REQUIRE(device.destroy_graph(plain));
    const std::uint64_t outlived = lab.wrong(left, 1);
    seen("left, graph destroyed: content", wrong_text(outlived));
    CHECK(outlived == 0);
    const auto freed = device.free_async(left, kA);
    seen("left, graph destroyed: free_async", lab.text(freed));
    CHECK(freed);

    const GraphId graph = lab.leaving(in, left, true);
    std::uint64_t wrong = 0;
    std::vector<Address> others;
    constexpr int kLaunches = 1000;
    for (int i = 0; i < kLaunches; ++i) {
        const auto seed = static_cast<std::uint32_t>(i);
        lab.work->fill(in, kSize, seed, kA);
        REQUIRE(device.launch(graph, kA));
        for (int k = 0; k < 4; ++k) {
            others.push_back(device.malloc_async(kSize, k % 2 == 0 ? kA : kB).value());
            lab.work->fill(others.back(), kSize, ~seed, k % 2 == 0 ? kA : kB);
        }
        lab.work->check(left, {1, seed}, {0, 0}, kSize, kA);
        if (others.size() > 16) {
            REQUIRE(device.synchronize_device());
            for (const Address other : others)
                REQUIRE(device.free_async(other, kA));
            others.clear();
        }
    }
    wrong = lab.work->wrong();
    seen("left, auto-free, others allocate and write: read after each of 1000 launches",
         wrong_text(wrong));
    CHECK(wrong == 0);
    lab.work->fill(in, kSize, 77, kA);
    REQUIRE(device.launch(graph, kA));
    seen("left, auto-free: what the launch before left, read after the next",
         wrong_text(lab.wrong(left, kLaunches - 1)));
    CHECK(lab.wrong(left, 77) == 0);
    REQUIRE(device.destroy_graph(graph));
    REQUIRE(device.free_async(left, kA));
    for (const Address other : others)
        REQUIRE(device.free_async(other, kA));
    REQUIRE(device.free(in));
}

TEST_CASE("memory used before or after its life in a graph, or by two owners, is seen", "[gpu]") {
    Lab lab;
    if (!lab.device)
        return;
    CudaDevice& device = *lab.device;
    const Address in = device.malloc(kSize).value();
    const Address out = device.malloc(kSize).value();
    lab.work->fill(in, kSize, 1, kA);

    // An intermediate, which the graph frees; and another graph, which leaves memory.
    Address middle = Address::null;
    const GraphId first = lab.capture([&] {
        middle = device.malloc_async(kSize, kA).value();
        lab.work->combine(middle, {1, in}, {0, in}, kSize, kA);
        lab.work->combine(out, {1, middle}, {0, in}, kSize, kA);
        REQUIRE(device.free_async(middle, kA));
    });
    Address left = Address::null;
    const GraphId second = lab.leaving(in, left, true);
    seen("two graphs' own memory: addresses", middle == left ? "equal" : "different");
    REQUIRE(device.launch(first, kA));
    CHECK(lab.wrong(out, 1) == 0);
    const auto free_again = device.free_async(middle, kA);
    seen("freed in the graph: free_async outside", lab.text(free_again));
    CHECK_FALSE(free_again);
    lab.work->fill(in, kSize, 2, kA);
    REQUIRE(device.launch(second, kA));
    REQUIRE(device.launch(first, kA));
    const std::uint64_t spoiled = lab.wrong(left, 2);
    seen("left by one graph, then the other launched: content", wrong_text(spoiled));
    CHECK(spoiled == 0);
    REQUIRE(device.destroy_graph(first));
    REQUIRE(device.destroy_graph(second));
    REQUIRE(device.free_async(left, kA));
    REQUIRE(device.synchronize_device());

    // Memory from before the capture, freed after it, and had by someone else at the launch.
    const Address mine = device.malloc_async(kSize, kA).value();
    const GraphId writer = lab.capture([&] { lab.work->fill(mine, kSize, 5, kA); });
    REQUIRE(device.launch(writer, kA));
    REQUIRE(device.free_async(mine, kA));
    const Address theirs = device.malloc_async(kSize, kA).value();
    lab.work->fill(theirs, kSize, 6, kA);
    CHECK(lab.wrong(theirs, 6) == 0);
    const auto launched = device.launch(writer, kA);
    const std::uint64_t clobbered = lab.wrong(theirs, 6);
    seen("freed after the capture, allocated again: launch, then the new owner's content",
         std::string(mine == theirs ? "same address, " : "another address, ") + lab.text(launched) +
             ", " + wrong_text(clobbered));
    CHECK((mine != theirs || clobbered == kElements));
    REQUIRE(device.destroy_graph(writer));
    REQUIRE(device.free_async(theirs, kA));
    REQUIRE(device.free(in));
    REQUIRE(device.free(out));
}

TEST_CASE("graphs' own memory is bound at launches, shared in order, and kept until trimmed",
          "[gpu]") {
    Lab lab;
    if (!lab.device)
        return;
    CudaDevice& device = *lab.device;
    REQUIRE(device.synchronize_device());
    CHECK(lab.trim() == CUresult::success);
    const Bytes free = device.memory().free;
    const auto held = [&] {
        return fmt::format("{}, free memory down {} KiB", lab.memory_text(),
                           static_cast<std::int64_t>(free - device.memory().free) / 1024);
    };
    seen("before any graph", held());
    std::vector<Address> addresses;
    const auto chain = [&](Bytes size, int count) {
        addresses.clear();
        return lab.capture([&] {
            for (int i = 0; i < count; ++i) {
                addresses.push_back(device.malloc_async(size, kA).value());
                lab.work->fill(addresses.back(), size, 1, kA);
                REQUIRE(device.free_async(addresses.back(), kA));
            }
        });
    };
    const GraphId tiny = chain(512, 1);
    REQUIRE(device.launch(tiny, kA));
    REQUIRE(device.synchronize_device());
    seen("512 bytes: launched", held());
    const GraphId one = chain(20_MiB, 5);
    seen("5 x 20 MiB one after another: captured", held());
    seen("  addresses", addresses[0] == addresses[1] ? "equal" : "different");
    REQUIRE(device.launch(one, kA));
    REQUIRE(device.synchronize_device());
    seen("  launched", held());
    const GraphId two = chain(20_MiB, 1);
    REQUIRE(device.launch(two, kA));
    REQUIRE(device.synchronize_device());
    seen("  another graph of 20 MiB, same stream", held());
    REQUIRE(device.launch(one, kA));
    REQUIRE(device.launch(two, kB));
    REQUIRE(device.synchronize_device());
    seen("  both on two streams at once", held());
    Address kept = Address::null;
    const GraphId leaves = lab.capture([&] { kept = device.malloc_async(20_MiB, kA).value(); });
    REQUIRE(device.launch(leaves, kA));
    REQUIRE(device.synchronize_device());
    seen("  a graph that leaves 20 MiB", held());
    REQUIRE(device.free_async(kept, kA));
    for (const GraphId graph : {tiny, one, two, leaves})
        REQUIRE(device.destroy_graph(graph));
    REQUIRE(device.synchronize_device());
    seen("  all destroyed", held());
    CHECK(lab.trim() == CUresult::success);
    seen("  trimmed", held());
    CHECK(lab.memory_text() == "used 0 KiB, reserved 0 KiB");
}

TEST_CASE("freeing other memory inside a capture is refused", "[gpu]") {
    Lab lab;
    if (!lab.device)
        return;
    CudaDevice& device = *lab.device;
    const Address other = device.malloc_async(kSize, kA).value();
    REQUIRE(device.begin_capture(kA));
    const auto freed = device.free_async(other, kA);
    seen("free_async in a capture, of memory from before it", lab.text(freed));
    CHECK_FALSE(freed);
    const auto graph = device.end_capture(kA);
    seen("  the capture's end", lab.text(graph));
    if (graph)
        REQUIRE(device.destroy_graph(*graph));
    REQUIRE(device.free_async(other, kA));
    REQUIRE(device.synchronize_device());
}

namespace {

// What a child has seen, as a line of its own.
void emit(const std::string& line) {
    faults::emit("seen: " + line);
}

void print_child(const char* test) {
    faults::Child child(test, {});
    const auto code = child.finish(std::chrono::seconds(60));
    std::istringstream lines(child.output());
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("seen: "))
            std::printf("  %s\n", line.c_str() + 6);
        if (line.find("violation signal") != std::string::npos)
            std::printf("  the process crashed:%s\n", line.c_str());
    }
    std::fflush(stdout);
    CHECK(code.has_value());  // it came to an end, however bad
}

}  // namespace

// In processes of their own: they may lose the context, or crash.
TEST_CASE("graph child: kernels use graph memory beyond its life", "[.child]") {
    Lab lab;
    if (!lab.device)
        return;
    CudaDevice& device = *lab.device;
    const Address in = device.malloc(kSize).value();
    Address middle = Address::null;
    const GraphId first = lab.capture([&] {
        middle = device.malloc_async(kSize, kA).value();
        lab.work->fill(middle, kSize, 1, kA);
        REQUIRE(device.free_async(middle, kA));
    });
    Address left = Address::null;
    const GraphId second = lab.leaving(in, left, true);
    const auto read = [&](const char* when) {
        lab.work->check(middle, {1, 1}, {0, 0}, kSize, kA);
        const auto done = device.synchronize(kA);
        if (!done) {
            emit(fmt::format("{}: {}, the next malloc: {}", when, lab.text(done),
                             lab.text(device.malloc(512))));
            std::_Exit(0);
        }
        emit(fmt::format("{}: content {}", when, wrong_text(lab.work->wrong())));
    };
    REQUIRE(device.launch(first, kA));
    read("a kernel reads an intermediate after the launch");
    lab.work->fill(in, kSize, 2, kA);
    REQUIRE(device.launch(second, kA));
    emit("another graph is launched, and leaves memory: " + lab.memory_text());
    read("a kernel reads the intermediate then");
    const std::uint64_t of_other = lab.wrong(middle, 2);
    emit("  compared with what the other graph left: " + wrong_text(of_other));
    lab.work->fill(middle, kSize, 3, kA);
    emit("a kernel writes to the intermediate; what the other graph left is " +
         wrong_text(lab.wrong(left, 2)));
    REQUIRE(device.free_async(left, kA));
    REQUIRE(device.synchronize_device());
    REQUIRE(lab.trim() == CUresult::success);
    read("a kernel reads the intermediate after a trim");
    std::_Exit(0);
}

TEST_CASE("graph child: a copy names graph memory beyond its life", "[.child]") {
    Lab lab;
    if (!lab.device)
        return;
    CudaDevice& device = *lab.device;
    const Address out = device.malloc(kSize).value();
    Address middle = Address::null;
    const GraphId graph = lab.capture([&] {
        middle = device.malloc_async(kSize, kA).value();
        lab.work->fill(middle, kSize, 1, kA);
        REQUIRE(device.free_async(middle, kA));
    });
    REQUIRE(device.launch(graph, kA));
    REQUIRE(device.synchronize_device());
    emit("a copy from an intermediate after the launch...");
    const auto read = device.copy(out, middle, kSize, kA);
    emit("  is " + lab.text(read));
    std::_Exit(0);
}

TEST_CASE("graph child: a graph is launched whose memory is gone", "[.child]") {
    Lab lab;
    if (!lab.device)
        return;
    CudaDevice& device = *lab.device;
    const Address plain = device.malloc(64_MiB).value();
    const GraphId graph = lab.capture([&] { lab.work->fill(plain, kSize, 1, kA); });
    REQUIRE(device.launch(graph, kA));
    REQUIRE(device.synchronize_device());
    REQUIRE(device.free(plain));
    const auto launched = device.launch(graph, kA);
    const auto done = device.synchronize(kA);
    emit(fmt::format("launch after the memory that it names was freed: {}, then {}, then malloc {}",
                     lab.text(launched), lab.text(done), lab.text(device.malloc(512))));
    std::_Exit(0);
}

TEST_CASE("graph memory used beyond its life is what the driver makes of it", "[gpu]") {
    if (!open_gpu())
        return;
    seen("in processes of their own:", "");
    print_child("graph child: kernels use graph memory beyond its life");
    print_child("graph child: a copy names graph memory beyond its life");
    print_child("graph child: a graph is launched whose memory is gone");
}
