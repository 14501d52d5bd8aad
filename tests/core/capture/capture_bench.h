// What tests of captures share: a device with content, an allocator outside of captures, and the
// capture allocator over both. A step that fails fails the test.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/faulty.h"
#include "core/capture/captured_graph.h"
#include "tests/support/device.h"
#include "tests/support/policy.h"

namespace tidemark::support {

struct CaptureBench {
    explicit CaptureBench(std::string_view policy = "best-fit:segment=2MiB",
                          Bytes capacity = 256_MiB)
        : sim({.capacity = capacity, .backed = true}),
          device(sim, {}),
          outside(make_policy(policy, device)),
          allocator(device, *outside) {}

    std::shared_ptr<GraphArena> arena(Bytes size = 0,
                                      ArenaSharing sharing = ArenaSharing::one_graph) {
        auto made = allocator.make_arena(size, sharing);
        REQUIRE(made);
        return *made;
    }

    Allocation take(Bytes size, StreamId stream = kStream) {
        return must_allocate(allocator, size, stream);
    }

    void give(const Allocation& allocation, StreamId stream = kStream) {
        allocator.deallocate(allocation, stream);
    }

    void copy(const Allocation& target, const Allocation& source, Bytes size) {
        REQUIRE(device.copy(target.address, source.address, size, kStream));
    }

    void write(const Allocation& target, std::uint32_t value) {
        std::array<std::byte, 4> bytes{};
        std::memcpy(bytes.data(), &value, 4);
        REQUIRE(sim.write(target.address, bytes));
    }

    std::uint32_t read(const Allocation& source) {
        std::array<std::byte, 4> bytes{};
        REQUIRE(sim.read(source.address, bytes));
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data(), 4);
        return value;
    }

    Bytes borrowed() const { return sim.memory().total - sim.memory().free; }

    bool is_quiet() const { return !device.capturing() && !allocator.any_capture(); }

    SimDevice sim;
    FaultyDevice device;
    std::unique_ptr<Allocator> outside;
    CaptureAllocator allocator;
};

inline bool is_inside(Range range, const Allocation& allocation) {
    return allocation.address >= range.begin && allocation.address < range.begin + range.size;
}

inline CapturedGraph must_capture(CaptureBench& bench, const CaptureSetup& setup,
                                  const std::function<Result<void>()>& body) {
    auto graph = capture_graph(bench.device, bench.allocator, setup, body);
    REQUIRE(graph);
    return *graph;
}

}  // namespace tidemark::support
