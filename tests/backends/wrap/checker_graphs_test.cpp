// The checker's view of graphs: who has the memory of a graph when it is launched.
#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/checked.h"
#include "tests/backends/wrap/only_hazard.h"
#include "tests/support/device.h"

using namespace tidemark;
using support::kA;
using support::kB;

namespace {

// A checked device, grants that a test makes up in 64 KiB of plain memory, and an event for each
// thing that happens, from 1.
struct GraphScene {
    SimDevice sim{SimConfig{.capacity = 1_GiB, .auto_free = true}};
    Checker checker;
    CheckedDevice device{sim, checker};
    Address memory = device.malloc(64_KiB).value();
    std::uint64_t event = 0;

    void next() { checker.set_event(++event); }

    Allocation grant(Bytes offset, Bytes size, StreamId stream = kA) {
        next();
        const Allocation allocation{.address = memory + offset, .size = size};
        checker.granted({.size = size, .stream = stream}, allocation);
        return allocation;
    }

    void drop(const Allocation& allocation) {
        next();
        checker.deallocating(allocation);
    }

    // Captures what `work` does on kA.
    template <class Work>
    GraphId capture(Work work) {
        next();
        REQUIRE(device.begin_capture(kA));
        work();
        next();
        const DeviceResult<GraphId> graph = device.end_capture(kA);
        REQUIRE(graph);
        return *graph;
    }

    void launch(GraphId graph, StreamId stream = kA) {
        next();
        static_cast<void>(device.launch(graph, stream));
    }

    void must_find(HazardKind kind, std::uint64_t first) const {
        support::check_only_hazard(checker, kind, first, event);
    }

    void must_find_nothing() const {
        for (const Hazard& hazard : checker.hazards())
            FAIL_CHECK(hazard.what);
    }
};

}  // namespace

TEST_CASE("a graph whose memory is its own is launched without a word, whatever else goes on") {
    GraphScene scene;
    const Allocation in = scene.grant(0, 4096);
    Allocation out;
    const GraphId graph = scene.capture([&] {
        const Allocation middle = scene.grant(4096, 4096);
        REQUIRE(scene.device.copy(middle.address, in.address, 4096, kA));
        out = scene.grant(8192, 4096);
        REQUIRE(scene.device.copy(out.address, middle.address, 4096, kA));
        scene.drop(middle);
    });
    for (int i = 0; i < 10; ++i) {
        scene.launch(graph, i % 2 == 0 ? kA : kB);
        const Allocation other = scene.grant(16384, 4096, kA);
        REQUIRE(scene.device.fill(other.address, 1, 4096, kA));
        scene.drop(other);
    }
    scene.drop(out);  // its memory is the graph's all the same
    scene.launch(graph);
    REQUIRE(scene.device.synchronize_device());
    REQUIRE(scene.device.destroy_graph(graph));
    scene.drop(scene.grant(4096, 4096, kB));
    scene.drop(in);
    scene.must_find_nothing();
}

TEST_CASE("a launch after an intermediate's memory was granted to someone else is found") {
    GraphScene scene;
    const GraphId graph = scene.capture([&] { scene.drop(scene.grant(4096, 4096)); });
    scene.launch(graph);
    scene.must_find_nothing();
    REQUIRE(scene.device.synchronize_device());
    const Allocation thief = scene.grant(7680, 4096, kB);
    const std::uint64_t taken = scene.event;
    scene.must_find_nothing();  // the graph may never be launched again
    SECTION("while it is live") {
        scene.launch(graph);
        scene.must_find(HazardKind::graph_memory_reused, taken);
    }
    SECTION("not when it is gone again") {
        scene.drop(thief);
        REQUIRE(scene.device.synchronize_device());
        scene.launch(graph);
        scene.must_find_nothing();
    }
    SECTION("not when the graph is gone") {
        REQUIRE(scene.device.destroy_graph(graph));
        scene.launch(graph);
        scene.must_find_nothing();
    }
}

TEST_CASE("memory granted again while a launch may still use it is found") {
    GraphScene scene;
    const GraphId graph = scene.capture([&] { scene.drop(scene.grant(4096, 4096)); });
    scene.launch(graph, kB);
    const std::uint64_t launched = scene.event;
    SECTION("on a stream that has not waited") {
        scene.grant(4096, 512, kA);
        scene.must_find(HazardKind::reuse_before_completion, launched);
    }
    SECTION("not on the stream of the launch") {
        scene.grant(4096, 512, kB);
        scene.must_find_nothing();
    }
    SECTION("not on one that has waited") {
        REQUIRE(scene.device.wait(kA, scene.device.record(kB).value()));
        scene.grant(4096, 512, kA);
        scene.must_find_nothing();
    }
    SECTION("not in another capture, which is done later") {
        const GraphId other = scene.capture([&] { scene.grant(4096, 512, kA); });
        REQUIRE(scene.device.synchronize_device());
        scene.launch(other);
        scene.must_find_nothing();
    }
}

TEST_CASE(
    "an allocation freed after a launch on another stream is not reused before that is done") {
    GraphScene scene;
    const Allocation in = scene.grant(0, 4096, kA);
    const GraphId graph =
        scene.capture([&] { REQUIRE(scene.device.fill(in.address, 1, 4096, kA)); });
    scene.launch(graph, kB);
    const std::uint64_t launched = scene.event;
    scene.drop(in);
    SECTION("it is") {
        scene.grant(0, 4096, kA);
        scene.must_find(HazardKind::reuse_before_completion, launched);
    }
    SECTION("it is not: the host has waited, though more was queued since") {
        REQUIRE(scene.device.synchronize(kB));
        REQUIRE(scene.device.fill(scene.memory + 8192, 1, 512, kB));
        scene.grant(0, 4096, kA);
        scene.must_find_nothing();
    }
    SECTION("it is not: the trace says that it is done with") {
        Allocation again = scene.grant(4096, 4096, kB);
        const GraphId other =
            scene.capture([&] { REQUIRE(scene.device.fill(again.address, 1, 4096, kA)); });
        scene.launch(other, kB);
        again.retired = true;
        scene.drop(again);
        scene.grant(4096, 4096, StreamId{7});
        scene.must_find_nothing();
    }
}

TEST_CASE("a launch after the program's own memory was given back is found") {
    GraphScene scene;
    const Allocation in = scene.grant(0, 4096);
    const std::uint64_t granted = scene.event;
    const GraphId graph = scene.capture([&] {
        REQUIRE(scene.device.write_pattern(in.address, 7, 4096, kA));
        REQUIRE(scene.device.copy(scene.memory + 8192, in.address, 4096, kA));
    });
    scene.launch(graph);
    scene.must_find_nothing();
    scene.drop(in);
    SECTION("to nobody") {
        scene.launch(graph);
        scene.must_find(HazardKind::graph_memory_freed, granted);
    }
    SECTION("and granted again, to another allocation") {
        scene.grant(0, 4096);
        const std::uint64_t again = scene.event;
        scene.launch(graph);
        scene.must_find(HazardKind::graph_memory_reused, again);
    }
    SECTION("and granted again in part") {
        scene.grant(0, 512);
        const std::uint64_t again = scene.event;
        scene.launch(graph);
        scene.must_find(HazardKind::graph_memory_reused, again);
    }
}

TEST_CASE("a launch after the device's memory is gone is found") {
    GraphScene scene;
    const Range range = scene.device.reserve(32_MiB).value();
    const Range page{range.begin, 2_MiB};
    const PhysicalId physical = scene.device.create({}, 2_MiB).value();
    const auto map = [&](PhysicalId id) {
        REQUIRE(scene.device.map(page, id));
        REQUIRE(scene.device.set_access(page, true));
    };
    map(physical);
    const Address plain = scene.device.malloc(512).value();
    const GraphId graph = scene.capture([&] {
        REQUIRE(scene.device.copy(range.begin, plain, 512, kA));
        scene.next();
    });
    const std::uint64_t used = 1;  // where the capture began
    SECTION("unmapped") {
        REQUIRE(scene.device.unmap(page));
        scene.launch(graph);
        scene.must_find(HazardKind::graph_memory_freed, used);
    }
    SECTION("freed") {
        REQUIRE(scene.device.free(plain));
        scene.launch(graph);
        scene.must_find(HazardKind::graph_memory_freed, used);
    }
    SECTION("not when something is mapped there again") {
        REQUIRE(scene.device.unmap(page));
        map(scene.device.create({}, 2_MiB).value());
        scene.launch(graph);
        scene.must_find_nothing();
    }
    SECTION("while a launch may still use it") {
        scene.launch(graph, kB);
        const std::uint64_t launched = scene.event;
        scene.next();
        REQUIRE(scene.device.unmap(page));
        scene.must_find(HazardKind::unmap_in_flight, launched);
    }
    SECTION("not when the host has seen it end") {
        scene.launch(graph, kB);
        REQUIRE(scene.device.synchronize(kB));
        REQUIRE(scene.device.unmap(page));
        scene.must_find_nothing();
    }
}

TEST_CASE("stream-ordered memory is given back after the launches that use it") {
    GraphScene scene;
    const Address pool = scene.device.malloc_async(512, kA).value();
    const GraphId graph = scene.capture([&] { REQUIRE(scene.device.fill(pool, 1, 512, kA)); });
    scene.launch(graph, kB);
    const std::uint64_t launched = scene.event;
    scene.next();
    SECTION("not before") {
        REQUIRE(scene.device.free_async(pool, kA));
        scene.must_find(HazardKind::unmap_in_flight, launched);
    }
    SECTION("on their stream") {
        REQUIRE(scene.device.wait(kB, scene.device.record(kA).value()));
        REQUIRE(scene.device.free_async(pool, kB));
        scene.must_find_nothing();
    }
}

TEST_CASE("graphs may share memory, but not run at the same time") {
    GraphScene scene;
    const GraphId first = scene.capture([&] { scene.drop(scene.grant(4096, 4096)); });
    const GraphId second = scene.capture([&] { scene.drop(scene.grant(4096, 512)); });
    scene.launch(first, kA);
    const std::uint64_t launched = scene.event;
    SECTION("one after the other") {
        scene.launch(second, kA);
        scene.launch(first, kA);
        scene.launch(first, kB);  // launches of one graph wait for each other
        REQUIRE(scene.device.synchronize_device());
        scene.launch(second, kA);
        scene.must_find_nothing();
    }
    SECTION("with an event between them") {
        REQUIRE(scene.device.wait(kB, scene.device.record(kA).value()));
        scene.launch(second, kB);
        scene.must_find_nothing();
    }
    SECTION("on two streams") {
        scene.launch(second, kB);
        scene.must_find(HazardKind::graph_race, launched);
    }
}

TEST_CASE("graphs that read the same memory may run at the same time, unless one writes it") {
    GraphScene scene;
    const Allocation in = scene.grant(0, 4096);
    const auto reader = [&](Bytes target) {
        return scene.capture(
            [&] { REQUIRE(scene.device.copy(scene.memory + target, in.address, 512, kA)); });
    };
    const GraphId one = reader(8192);
    const GraphId two = reader(16384);
    const GraphId writer = scene.capture([&] {
        REQUIRE(scene.device.fill(in.address, 1, 256, kA));
        REQUIRE(scene.device.copy(scene.memory + 32768, in.address, 4096, kA));
    });
    scene.launch(one, kA);
    scene.launch(two, kB);
    scene.must_find_nothing();
    SECTION("all are waited for") {
        REQUIRE(scene.device.wait(kA, scene.device.record(kB).value()));
        scene.launch(writer, kA);
        scene.must_find_nothing();
    }
    SECTION("one is not") {
        const std::uint64_t launched = scene.event;
        scene.launch(writer, kA);
        scene.must_find(HazardKind::graph_race, launched);
    }
}

TEST_CASE("a stream that joined a capture is part of it, and so is what it uses") {
    GraphScene scene;
    const Allocation kept = scene.grant(0, 4096, kB);
    const GraphId graph = scene.capture([&] {
        REQUIRE(scene.device.wait(kB, scene.device.record(kA).value()));
        scene.drop(scene.grant(4096, 4096, kB));
        scene.checker.used_on(kept, kB);
        REQUIRE(scene.device.wait(kA, scene.device.record(kB).value()));
    });
    scene.launch(graph);
    scene.must_find_nothing();
    SECTION("memory granted on it") {
        scene.grant(4096, 4096, kA);
        const std::uint64_t taken = scene.event;
        scene.launch(graph);
        scene.must_find(HazardKind::graph_memory_reused, taken);
    }
    SECTION("memory used on it") {
        scene.drop(kept);
        scene.launch(graph);
        scene.must_find(HazardKind::graph_memory_freed, 1);
    }
}

TEST_CASE("a capture that went wrong leaves nothing behind") {
    GraphScene scene;
    scene.next();
    REQUIRE(scene.device.begin_capture(kA));
    REQUIRE(scene.device.wait(kB, scene.device.record(kA).value()));
    REQUIRE(scene.device.malloc_async(512, kB));
    CHECK_FALSE(scene.device.end_capture(kA));
    scene.drop(scene.grant(0, 512, kB));  // kB is free again
    const GraphId graph = scene.capture([] {});
    scene.launch(graph);
    REQUIRE(scene.device.free(scene.memory));
    scene.checker.finish();
    scene.must_find_nothing();
}

TEST_CASE("memory of a graph's own is memory in it, and after a launch that leaves it") {
    GraphScene scene;
    Address own = Address::null;
    const GraphId graph = scene.capture([&] {
        const Address inner = scene.device.malloc_async(512, kA).value();
        REQUIRE(scene.device.fill(inner, 1, 512, kA));
        REQUIRE(scene.device.free_async(inner, kA));
        own = scene.device.malloc_async(512, kA).value();
        REQUIRE(scene.device.fill(own, 1, 512, kA));
    });
    scene.launch(graph);
    REQUIRE(scene.device.fill(own, 2, 512, kA));
    scene.launch(graph);
    scene.must_find_nothing();
    SECTION("given back") {
        SECTION("in stream order") {
            REQUIRE(scene.device.free_async(own, kA));
        }
        SECTION("at once") {
            REQUIRE(scene.device.free(own));
        }
        REQUIRE(scene.device.free(scene.memory));
        scene.checker.finish();
        scene.must_find_nothing();
    }
    SECTION("used when it was given back") {
        REQUIRE(scene.device.free_async(own, kA));
        CHECK_FALSE(scene.device.fill(own, 1, 512, kA));
        scene.must_find(HazardKind::out_of_bounds, scene.event);
    }
    SECTION("given back twice") {
        REQUIRE(scene.device.free_async(own, kA));
        CHECK_FALSE(scene.device.free_async(own, kA));
        scene.must_find(HazardKind::double_free, scene.event);
    }
    SECTION("left behind") {
        REQUIRE(scene.device.destroy_graph(graph));
        REQUIRE(scene.device.free(scene.memory));
        scene.checker.finish();
        scene.must_find(HazardKind::leak, scene.event);
    }
}

TEST_CASE("a copy that spans allocations names each of them") {
    GraphScene scene;
    const Allocation one = scene.grant(0, 512);
    const Allocation two = scene.grant(1024, 512);
    const GraphId graph = scene.capture(
        [&] { REQUIRE(scene.device.copy(scene.memory + 8192, scene.memory, 2048, kA)); });
    scene.launch(graph);
    scene.must_find_nothing();
    SECTION("the second is freed") {
        scene.drop(two);
        scene.launch(graph);
        scene.must_find(HazardKind::graph_memory_freed, 2);
    }
    SECTION("the bytes between are granted") {
        scene.grant(512, 512);
        const std::uint64_t granted = scene.event;
        scene.launch(graph);
        scene.must_find(HazardKind::graph_memory_reused, granted);
    }
    CHECK(one.size == 512);
}
