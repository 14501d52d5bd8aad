// Capturing graphs on the simulator: that they do the same again, whose memory lives how long, and
// that nothing that goes wrong leaves anything frozen, captured, leaked or given twice.
#include "core/capture/captured_graph.h"

#include <optional>
#include <stdexcept>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/core/capture/capture_bench.h"

namespace tidemark {
namespace {

using support::is_inside;
using support::kOther;
using support::kStream;
using support::must_capture;
using Bench = support::CaptureBench;

TEST_CASE("a graph with intermediates does the same a thousand times, whatever happens between") {
    Bench bench;
    const Allocation input = bench.take(4);
    const Allocation output = bench.take(4);
    auto arena = bench.arena();
    const CapturedGraph graph = must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
        const Allocation first = bench.take(4);
        const Allocation second = bench.take(4);
        bench.copy(first, input, 4);
        bench.copy(second, first, 4);
        bench.give(first);
        bench.copy(output, second, 4);
        bench.give(second);
        return Result<void>();
    });
    CHECK(graph.replays());
    CHECK(graph.report().requests == 2);
    CHECK(graph.report().escapes.empty());
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const Allocation between = bench.take(1 + i % 5000);
        bench.write(input, i);
        REQUIRE(graph.launch(kStream));
        bench.write(between, ~i);
        REQUIRE(bench.read(output) == i);
        bench.give(between);
    }
    CHECK(graph.launches() == 1000);
}

TEST_CASE("a capture that cannot begin leaves nothing open") {
    Bench bench;
    auto arena = bench.arena();
    bench.device.set_plan(
        {.nth = 1, .call = DeviceCall::begin_capture, .status = DeviceStatus::fault});
    int runs = 0;
    const auto body = [&] {
        ++runs;
        return Result<void>();
    };
    CHECK_FALSE(
        capture_graph(bench.device, bench.allocator, {.stream = kStream, .arena = arena}, body));
    CHECK(runs == 0);
    CHECK(bench.is_quiet());
    CHECK(bench.allocator.session_of(kStream) == nullptr);
    const Allocation after = bench.take(1000);
    CHECK_FALSE(is_inside(arena->range(), after));
    bench.give(after);

    const CapturedGraph graph = must_capture(bench, {.stream = kStream, .arena = arena}, body);
    CHECK(runs == 1);
}

TEST_CASE("a capture that cannot end leaves nothing open") {
    Bench bench;
    auto arena = bench.arena();
    bench.device.set_plan(
        {.nth = 1, .call = DeviceCall::end_capture, .status = DeviceStatus::fault});
    Allocation kept;
    CHECK_FALSE(
        capture_graph(bench.device, bench.allocator, {.stream = kStream, .arena = arena}, [&] {
            kept = bench.take(1000);
            return Result<void>();
        }));
    CHECK_FALSE(bench.allocator.any_capture());
    CHECK(arena->graphs() == 0);
    bench.give(kept);
    CHECK(bench.allocator.usage().allocated == 0);
    static_cast<void>(bench.sim.end_capture(kStream));  // which the failed call did not reach
}

TEST_CASE("an error of the body comes first, and an exception ends the capture on its way") {
    Bench bench;
    auto arena = bench.arena();
    const auto failed =
        capture_graph(bench.device, bench.allocator, {.stream = kStream, .arena = arena},
                      [&]() -> Result<void> { return fail(ErrorCode::io, "no such file"); });
    REQUIRE_FALSE(failed);
    CHECK(failed.error().what == "no such file");
    CHECK(bench.is_quiet());

    CHECK_THROWS_AS(
        capture_graph(bench.device, bench.allocator, {.stream = kStream, .arena = arena},
                      [&]() -> Result<void> { throw std::runtime_error("stop"); }),
        std::runtime_error);
    CHECK(bench.is_quiet());
    CHECK_THROWS_AS(dry_run(bench.allocator, kStream,
                            [&]() -> Result<void> { throw std::runtime_error("stop"); }),
                    std::runtime_error);
    CHECK(bench.allocator.session_of(kStream) == nullptr);
    CHECK(must_capture(bench, {.stream = kStream, .arena = arena}, [] {
              return Result<void>();
          }).replays());
}

TEST_CASE("an escape keeps its arena's memory when graph and arena are let go") {
    Bench bench;
    Allocation kept;
    const Bytes before = bench.borrowed();
    {
        auto arena = bench.arena();
        must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
            kept = bench.take(4);
            return Result<void>();
        });
    }
    CHECK(bench.borrowed() > before);
    bench.write(kept, 7);
    CHECK(bench.read(kept) == 7);
    bench.give(kept);
    CHECK(bench.borrowed() == before);
    CHECK(bench.allocator.usage().reserved == bench.outside->usage().reserved);
}

TEST_CASE("the arena's memory lives as long as any copy of the graph, and goes with the last") {
    Bench bench;
    const Bytes before = bench.borrowed();
    auto arena = bench.arena();
    std::optional<CapturedGraph> graph =
        must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
            bench.give(bench.take(3_MiB));
            return Result<void>();
        });
    arena.reset();
    std::optional<CapturedGraph> copy = graph;
    graph.reset();
    CHECK(bench.borrowed() == before + 4_MiB);
    REQUIRE(copy->launch(kStream));
    CHECK(copy->launches() == 1);
    std::thread([&] { copy.reset(); }).join();
    CHECK(bench.borrowed() == before);
    CHECK(bench.allocator.left_over() == 0);
}

TEST_CASE("an arena that ends while the device captures is given back later") {
    Bench bench;
    auto arena = bench.arena();
    must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
        bench.give(bench.take(1));
        return Result<void>();
    });
    auto other = bench.arena();
    auto scope =
        CaptureScope::begin(bench.device, bench.allocator, {.stream = kOther, .arena = other});
    REQUIRE(scope);
    arena.reset();
    CHECK(bench.allocator.left_over() == 2_MiB);
    REQUIRE(scope->end());
    bench.allocator.trim(TrimLevel::all);
    CHECK(bench.allocator.left_over() == 0);
}

TEST_CASE("a recapture that needs more grows the arena at its address") {
    Bench bench;
    auto arena = bench.arena();
    const auto body = [&](Bytes size) {
        return [&bench, size] {
            const Allocation first = bench.take(1000);
            const Allocation second = bench.take(size);
            bench.give(first);
            bench.give(second);
            return Result<void>();
        };
    };
    std::optional<CapturedGraph> graph =
        must_capture(bench, {.stream = kStream, .arena = arena}, body(1000));
    const Range before = arena->range();
    CHECK_FALSE(bench.allocator.open({.stream = kStream, .arena = arena}));
    graph.reset();
    graph = must_capture(bench, {.stream = kStream, .arena = arena}, body(20_MiB));
    CHECK(arena->range().begin == before.begin);
    CHECK(arena->range().size > before.size);
    REQUIRE(graph->launch(kStream));
}

TEST_CASE("graphs that run in turn share an arena of the largest's size, above live escapes") {
    Bench bench;
    auto arena = bench.arena(0, ArenaSharing::in_turn);
    Allocation kept;
    const CapturedGraph small = must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
        bench.give(bench.take(2_MiB));
        return Result<void>();
    });
    const CapturedGraph large = must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
        kept = bench.take(1_MiB);
        bench.give(bench.take(5_MiB));
        return Result<void>();
    });
    CHECK(arena->range().size == 6_MiB);
    CHECK(arena->graphs() == 2);
    const CapturedGraph third = must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
        const Allocation above = bench.take(1_MiB);
        CHECK(above.address >= kept.address + kept.size);
        bench.give(above);
        return Result<void>();
    });
    bench.write(kept, 42);
    REQUIRE(small.launch(kStream));
    CHECK(bench.read(kept) == 42);
    bench.give(kept);
    CHECK(*bench.allocator.make_arena(2_MiB) != nullptr);
}

// The simulator, if it could not capture.
class NoCapture final : public WrappedDevice<NoCapture> {
  public:
    explicit NoCapture(Device& inner) : WrappedDevice(inner) {}

    bool has(Feature feature) const override {
        return feature != Feature::capture && inner_.has(feature);
    }

    template <class Make>
    auto around(const CallArguments& /*arguments*/, Make make) -> decltype(make()) {
        return make();
    }
};

TEST_CASE("a device that cannot capture runs the body once, and its graph does nothing") {
    Bench bench;
    NoCapture device(bench.device);
    CaptureAllocator allocator(device, *bench.outside);
    auto arena = allocator.make_arena();
    REQUIRE(arena);
    int runs = 0;
    const auto graph = capture_graph(
        device, allocator, {.stream = kStream, .arena = *arena}, [&]() -> Result<void> {
            ++runs;
            const auto allocation = allocator.allocate({.size = 4, .stream = kStream});
            REQUIRE(device.fill(allocation->address, 5, 4, kStream));
            allocator.deallocate(*allocation, kStream);
            return {};
        });
    REQUIRE(graph);
    CHECK(runs == 1);
    CHECK_FALSE(graph->replays());
    const CapturedGraph copy = *graph;
    CHECK(copy.launch(kStream));
    CHECK(graph->launches() == 1);
    CHECK(bench.sim.counters().calls[static_cast<std::size_t>(DeviceCall::launch)] == 0);

    const auto failed =
        capture_graph(device, allocator, {.stream = kOther, .arena = *allocator.make_arena()},
                      [&]() -> Result<void> { return fail(ErrorCode::io, "no"); });
    CHECK_FALSE(failed);
}

// A dry run, a capture by its plan that grows its arena and frees what was there before, launches,
// and all of it let go. Gives up where it must.
void capture_and_launch(Bench& bench) {
    const auto body = [&](const Allocation& before) {
        return [&bench, before]() -> Result<void> {
            const auto first = bench.allocator.allocate({.size = 3_MiB, .stream = kStream});
            const auto second = bench.allocator.allocate({.size = 1_MiB, .stream = kStream});
            for (const auto& one : {first, second}) {
                if (one)
                    bench.give(*one);
            }
            bench.give(before);
            if (!first || !second)
                return fail(ErrorCode::driver, "out of memory");
            return {};
        };
    };
    const auto before_dry = bench.allocator.allocate({.size = 1000, .stream = kStream});
    const auto before = bench.allocator.allocate({.size = 1000, .stream = kStream});
    if (!before_dry || !before) {
        for (const auto& one : {before_dry, before}) {
            if (one)
                bench.give(*one);
        }
        return;
    }
    const Result<DryRun> run = dry_run(bench.allocator, kStream, body(*before_dry));
    const auto arena = bench.allocator.make_arena();
    if (!run || !arena) {
        bench.give(*before);
        return;
    }
    bool ran = false;
    const auto graph =
        capture_graph(bench.device, bench.allocator,
                      {.stream = kStream, .arena = *arena, .planned_from = &*run}, [&] {
                          ran = true;
                          return body(*before)();
                      });
    if (!ran)
        bench.give(*before);
    if (graph)
        static_cast<void>(graph->launch(kStream));
}

TEST_CASE("a failure of the device at any call leaves a capture's story whole", "[faults]") {
    for (const auto status : {DeviceStatus::out_of_memory, DeviceStatus::fault}) {
        for (std::uint64_t nth = 1;; ++nth) {
            CAPTURE(nth, to_text(status));
            Bench bench;
            bench.device.set_plan({.nth = nth, .status = status});
            capture_and_launch(bench);
            const bool struck = bench.device.failures() != 0;
            bench.device.set_plan({});
            if (bench.sim.capturing())  // a failed end_capture did not reach the device
                static_cast<void>(bench.sim.end_capture(kStream));
            CHECK_FALSE(bench.allocator.any_capture());
            for (const Region& region : support::regions_of(bench.allocator))
                CHECK(region.state != Region::State::allocated);
            bench.allocator.trim(TrimLevel::all);
            CHECK(bench.allocator.usage().allocated == 0);
            CHECK(bench.allocator.usage().active == 0);
            CHECK(bench.allocator.usage().reserved == 0);
            CHECK(bench.borrowed() == 0);
            if (!struck)
                break;
        }
    }
}

}  // namespace
}  // namespace tidemark
