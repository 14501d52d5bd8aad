// Sessions: what belongs to a capture, what waits for its end, what outlives it, and how much it
// needs.
#include "core/capture/capture_allocator.h"

#include <array>
#include <mutex>
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

TEST_CASE("what was allocated before a capture and is let go in it waits, and is then let go") {
    Bench bench;
    const Allocation before = bench.take(2_MiB);
    const Bytes outside_before = bench.outside->usage().allocated;
    auto arena = bench.arena();
    const CapturedGraph graph = must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
        bench.give(before);
        CHECK(bench.outside->usage().allocated == outside_before);
        CHECK(bench.allocator.usage().allocated == 0);
        CHECK(bench.allocator.usage().active == outside_before);
        const Allocation inside = bench.take(2_MiB);
        CHECK(inside.address != before.address);
        bench.give(inside);
        return Result<void>();
    });
    CHECK(graph.report().deferred == 1);
    CHECK(bench.outside->usage().allocated == 0);
    CHECK(bench.allocator.usage().active == 0);
    bench.allocator.trim(TrimLevel::all);
    CHECK(bench.outside->usage().reserved == 0);
}

TEST_CASE("frees wait until the last capture ends, on whatever stream it is") {
    Bench bench;
    const Allocation before = bench.take(1000);
    auto first = bench.arena();
    auto second = bench.arena();
    auto one =
        CaptureScope::begin(bench.device, bench.allocator, {.stream = kStream, .arena = first});
    auto two =
        CaptureScope::begin(bench.device, bench.allocator, {.stream = kOther, .arena = second});
    REQUIRE(one);
    REQUIRE(two);
    bench.give(before, kStream);
    REQUIRE(one->end());
    CHECK(bench.outside->usage().allocated != 0);
    bench.allocator.trim(TrimLevel::all);
    CHECK(bench.sim.counters().calls[static_cast<std::size_t>(DeviceCall::free)] == 0);
    REQUIRE(two->end());
    CHECK(bench.outside->usage().allocated == 0);
}

TEST_CASE("what outlives a capture is listed, and its end never reaches the allocator outside") {
    Bench bench("arena");
    auto arena = bench.arena();
    Allocation kept;
    Allocation dropped;
    const CapturedGraph graph = must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
        dropped = bench.take(1000);
        kept = bench.take(5000);
        bench.give(dropped);
        return Result<void>();
    });
    REQUIRE(graph.report().escapes.size() == 1);
    CHECK(graph.report().escapes[0] == Range{kept.address, kept.size});
    CHECK(is_inside(arena->range(), kept));
    CHECK(arena->live_escapes() == 1);

    const std::size_t regions = support::regions_of(*bench.outside).size();
    bench.give(kept);
    CHECK(arena->live_escapes() == 0);
    CHECK(support::regions_of(*bench.outside).size() == regions);
    for (int i = 0; i < 100; ++i)
        CHECK_FALSE(is_inside(arena->range(), bench.take(5000)));
}

TEST_CASE("captures are not nested: neither on a stream nor in an arena") {
    Bench bench;
    auto arena = bench.arena();
    auto other = bench.arena();
    const CapturedGraph graph = must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
        CHECK_FALSE(bench.allocator.open({.stream = kStream, .arena = other}));
        CHECK_FALSE(bench.allocator.open({.stream = kOther, .arena = arena}));
        CHECK_FALSE(bench.allocator.open({.stream = kStream}));
        return Result<void>();
    });
    const auto again = bench.allocator.open({.stream = kOther, .arena = arena});
    REQUIRE_FALSE(again);
    CHECK(again.error().what == "an existing graph holds the addresses of this arena");
    CHECK_FALSE(CaptureScope::begin(bench.device, bench.allocator, {.stream = kOther}));
    CHECK(bench.is_quiet());
}

TEST_CASE("sessions are apart: another stream's requests never come from the arena") {
    Bench bench;
    auto first = bench.arena();
    auto second = bench.arena();
    auto one =
        CaptureScope::begin(bench.device, bench.allocator, {.stream = kStream, .arena = first});
    auto two =
        CaptureScope::begin(bench.device, bench.allocator, {.stream = kOther, .arena = second});
    REQUIRE(one);
    REQUIRE(two);
    const Allocation mine = bench.take(1000, kStream);
    const Allocation yours = bench.take(1000, kOther);
    const Allocation nobodys = bench.take(1000, StreamId{3});
    CHECK(is_inside(first->range(), mine));
    CHECK(is_inside(second->range(), yours));
    CHECK_FALSE(is_inside(first->range(), nobodys));
    CHECK_FALSE(is_inside(second->range(), nobodys));
    bench.give(nobodys, StreamId{3});
    CHECK(bench.outside->usage().allocated == 0);
    CHECK(one->end()->report().escapes.size() == 1);
    CHECK(two->end()->report().requests == 1);
    bench.give(mine);
    bench.give(yours);
}

TEST_CASE("two threads capture at once under a lock, each in its own arena") {
    Bench bench;
    std::mutex lock;
    std::array<std::shared_ptr<GraphArena>, 2> arenas{bench.arena(), bench.arena()};
    std::array<std::uint64_t, 2> strays{};
    const auto capture = [&](std::size_t i) {
        const StreamId stream{static_cast<std::uint32_t>(i + 1)};
        std::unique_lock held(lock);
        auto scope = CaptureScope::begin(bench.device, bench.allocator,
                                         {.stream = stream, .arena = arenas[i]});
        for (int n = 0; n < 500; ++n) {
            held.unlock();
            std::this_thread::yield();
            held.lock();
            const auto allocation = bench.allocator.allocate({.size = 1000, .stream = stream});
            strays[i] += is_inside(arenas[i]->range(), *allocation) ? 0U : 1U;
            bench.allocator.deallocate(*allocation, stream);
        }
        const auto graph = scope->end();
        strays[i] += graph && graph->report().requests == 500 ? 0U : 1U;
    };
    std::thread one(capture, 0);
    std::thread two(capture, 1);
    one.join();
    two.join();
    CHECK(strays == std::array<std::uint64_t, 2>{0, 0});
    CHECK(bench.allocator.usage().allocated == 0);
}

TEST_CASE("a dry run sizes the arena, and a plan needs less than a bump arena") {
    Bench bench;
    const auto body = [&] {
        for (int i = 0; i < 8; ++i)
            bench.give(bench.take(1_MiB));
        return Result<void>();
    };
    const Result<DryRun> run = dry_run(bench.allocator, kStream, body);
    REQUIRE(run);
    CHECK(run->allocations().size() == 8);
    CHECK(run->volume() == 8_MiB);
    CHECK(run->plan()->height == 1_MiB);
    CHECK(bench.allocator.usage().allocated == 0);

    auto bumped = bench.arena(run->volume());
    auto planned = bench.arena(2_MiB);
    const CapturedGraph one = must_capture(bench, {.stream = kStream, .arena = bumped}, body);
    CHECK(one.report().used == run->volume());
    const CapturedGraph two =
        must_capture(bench, {.stream = kStream, .arena = planned, .planned_from = &*run}, body);
    CHECK(two.report().used == 1_MiB);
    CHECK(two.report().deviations == 0);
}

TEST_CASE("an arena that is too small says what was asked for, used and there") {
    Bench bench;
    auto arena = bench.arena(2_MiB);
    const auto failed = capture_graph(
        bench.device, bench.allocator, {.stream = kStream, .arena = arena}, [&]() -> Result<void> {
            const Allocation first = bench.take(1_MiB);
            const auto second = bench.allocator.allocate({.size = 3_MiB, .stream = kStream});
            CHECK_FALSE(second);
            bench.give(first);
            return fail(ErrorCode::driver, "out of memory");
        });
    REQUIRE_FALSE(failed);
    CHECK(failed.error().hint ==
          "the arena is full: 3145728 bytes requested, 1048576 of 2097152 used");
    CHECK(bench.allocator.stats().out_of_memory == 1);
}

TEST_CASE("sizes that no device has are refused in a capture") {
    Bench bench;
    auto arena = bench.arena();
    const CapturedGraph graph = must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
        for (const Bytes size : {~Bytes{0}, kLargestRequest, kLargestRequest - 1, 1024_GiB}) {
            const auto refused = bench.allocator.allocate({.size = size, .stream = kStream});
            CHECK_FALSE(refused);
        }
        return Result<void>();
    });
    CHECK(graph.report().refused == 4);
    CHECK(graph.report().requests == 0);
}

TEST_CASE("streams join a session, and edges between them let bytes pass in its plan") {
    Bench bench;
    const auto body = [&](SessionId session) {
        REQUIRE(bench.allocator.join(session, kOther));
        bench.give(bench.take(1_MiB, kStream), kStream);
        bench.allocator.edge(session, kStream, kOther);
        bench.give(bench.take(1_MiB, kOther), kOther);
    };
    const auto dry = bench.allocator.open({.stream = kStream});
    REQUIRE(dry);
    body(*dry);
    const CaptureReport report = bench.allocator.close(*dry, false);
    CHECK(report.dry_run.plan()->height == 1_MiB);

    auto arena = bench.arena();
    auto scope =
        CaptureScope::begin(bench.device, bench.allocator,
                            {.stream = kStream, .arena = arena, .planned_from = &report.dry_run});
    REQUIRE(scope);
    body(scope->session());
    const auto graph = scope->end();
    REQUIRE(graph);
    CHECK(graph->report().used == 1_MiB);
    CHECK(graph->report().deviations == 0);
}

TEST_CASE("what other streams used too is not reused inside a planned capture") {
    Bench bench;
    const auto body = [&] {
        const Allocation used = bench.take(1_MiB);
        bench.allocator.record_use(used, kOther);
        bench.give(used);
        bench.give(bench.take(1_MiB));
        return Result<void>();
    };
    const Result<DryRun> run = dry_run(bench.allocator, kStream, body);
    REQUIRE(run);
    CHECK(run->plan()->height == 2_MiB);
}

TEST_CASE("retiring in and around captures keeps the counts exact") {
    Bench bench;
    auto arena = bench.arena();
    Allocation outside = bench.take(1000);
    const CapturedGraph graph = must_capture(bench, {.stream = kStream, .arena = arena}, [&] {
        Allocation inside = bench.take(1000);
        bench.allocator.retire(inside);
        bench.allocator.retire(outside);
        CHECK(bench.allocator.usage().allocated == 0);
        CHECK(bench.allocator.usage().active == inside.size + outside.size);
        bench.give(inside);
        bench.give(outside);
        CHECK(bench.allocator.usage().allocated == 0);
        CHECK(bench.allocator.usage().active == outside.size);
        return Result<void>();
    });
    CHECK(bench.allocator.usage().active == 0);
    CHECK(bench.outside->usage().allocated == 0);
}

}  // namespace
}  // namespace tidemark
