// The simulator's graphs: what is recorded, what a launch does, and memory of graphs' own.
#include <vector>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "core/base/random.h"
#include "tests/support/device.h"

using namespace tidemark;
using support::kA;
using support::kB;
using support::kC;
using support::status_of;

namespace {

SimConfig backed(Bytes capacity = 1_GiB) {
    return {.capacity = capacity, .backed = true};
}

// Everything takes a nanosecond a byte on its stream, and calls take no time; save a launch, which
// takes 100 and 10 for each step.
const CostProfile& simple_profile() {
    static const CostProfile profile = [] {
        CostProfile one;
        one.name = "simple";
        one.memory = 1_GiB;
        const CostPoint rising[] = {{0, 0}, {1_GiB, static_cast<Nanoseconds>(1_GiB)}};
        for (CostCurve& curve : one.transfers)
            curve = CostCurve(rising);
        const CostPoint launches[] = {{0, 100}, {10, 200}};
        one.calls[static_cast<std::size_t>(DeviceCall::launch)] = CostCurve(launches);
        return one;
    }();
    return profile;
}

std::vector<std::byte> bytes_at(const SimDevice& device, Address address, Bytes size) {
    std::vector<std::byte> bytes(size);
    REQUIRE(device.read(address, bytes));
    return bytes;
}

bool holds(const SimDevice& device, Address address, Bytes size, std::uint8_t value) {
    return bytes_at(device, address, size) == std::vector<std::byte>(size, std::byte{value});
}

// Captures what `work` queues on kA.
template <class Work>
GraphId capture(Device& device, Work work) {
    REQUIRE(device.begin_capture(kA));
    work();
    const DeviceResult<GraphId> graph = device.end_capture(kA);
    REQUIRE(graph);
    return *graph;
}

}  // namespace

TEST_CASE("what is captured is not done, and done at each launch, on inputs as they are then") {
    SimDevice device(backed());
    const Address a = device.malloc(4096).value();
    const Address middle = device.malloc(4096).value();
    const Address out = device.malloc(4096).value();
    REQUIRE(device.fill(a, 11, 4096, kA));
    REQUIRE(device.fill(out, 0, 4096, kA));
    const GraphId graph = capture(device, [&] {
        REQUIRE(device.copy(middle, a, 4096, kA));
        REQUIRE(device.write_pattern(middle + 512, 0x04030201, 8, kA));
        REQUIRE(device.copy(out, middle, 4096, kA));
        REQUIRE(device.fill(middle, 99, 4096, kA));
    });
    CHECK(holds(device, out, 4096, 0));
    CHECK(device.counters().copied_on_device == 0);

    REQUIRE(device.launch(graph, kB));
    CHECK(holds(device, out, 512, 11));
    CHECK(bytes_at(device, out + 512, 5) ==
          std::vector{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{1}});
    CHECK(holds(device, out + 520, 4096 - 520, 11));
    CHECK(device.counters().copied_on_device == 8192);

    REQUIRE(device.fill(a, 15, 4096, kA));
    REQUIRE(device.launch(graph, kA));
    CHECK(holds(device, out + 520, 4096 - 520, 15));

    REQUIRE(device.destroy_graph(graph));
    CHECK(status_of(device.launch(graph, kA)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.destroy_graph(graph)) == DeviceStatus::invalid_value);
    REQUIRE(device.free(middle));
    const Address fresh = device.malloc(4096).value();
    CHECK(holds(device, fresh, 4096, 0xa5));  // unwritten
}

TEST_CASE("an empty graph can be launched and copied, and its work is its own") {
    SimDevice device(backed());
    const GraphId graph = capture(device, [] {});
    REQUIRE(device.launch(graph, kA));
    REQUIRE(device.launch(graph, StreamId::default_stream));
    const auto twin = device.clone();
    REQUIRE(device.destroy_graph(graph));
    CHECK(twin->launch(graph, kA));
    CHECK(twin->destroy_graph(graph));
    CHECK(status_of(twin->launch(graph, kA)) == DeviceStatus::invalid_value);
}

TEST_CASE("a thousand replays are right while others allocate and write between them") {
    SimDevice device(backed());
    constexpr Bytes kSize = 4096;
    const Address in = device.malloc(kSize).value();
    const Address first = device.malloc(kSize).value();
    const Address second = device.malloc(kSize).value();
    const Address out = device.malloc(kSize).value();
    const GraphId graph = capture(device, [&] {
        const Address own = device.malloc_async(kSize, kA).value();
        REQUIRE(device.copy(first, in, kSize, kA));
        REQUIRE(device.copy(own, first, kSize, kA));
        REQUIRE(device.copy(second, own, kSize, kA));
        REQUIRE(device.free_async(own, kA));
        REQUIRE(device.copy(out, second, kSize, kA));
    });
    Random random(5);
    std::vector<Address> others;
    int wrong = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto value = static_cast<std::uint8_t>(i);
        REQUIRE(device.fill(in, value, kSize, kA));
        REQUIRE(device.launch(graph, i % 3 == 0 ? kB : kA));
        if (others.size() > 5) {
            REQUIRE(device.free_async(others.front(), kA));
            others.erase(others.begin());
        }
        others.push_back(device.malloc_async(random.below(16) * 512 + 1, kA).value());
        REQUIRE(device.fill(others.back(), static_cast<std::uint8_t>(~value), 1, kA));
        wrong += holds(device, out, kSize, value) ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(device.counters().calls[static_cast<std::size_t>(DeviceCall::launch)] == 1000);
    CHECK(device.counters().copied_on_device == 4000 * kSize);
}

TEST_CASE("a stream that waits for a captured event joins the capture until its end") {
    SimDevice device(backed());
    const Address a = device.malloc(512).value();
    const Address b = device.malloc(512).value();
    REQUIRE(device.fill(a, 1, 512, kA));
    REQUIRE(device.fill(b, 1, 512, kA));
    const GraphId graph = capture(device, [&] {
        REQUIRE(device.fill(a, 2, 512, kA));
        REQUIRE(device.wait(kB, device.record(kA).value()));
        REQUIRE(device.copy(b, a, 512, kB));
        CHECK(status_of(device.end_capture(kB)) == DeviceStatus::invalid_value);
        CHECK(status_of(device.begin_capture(kB)) == DeviceStatus::invalid_value);
        REQUIRE(device.wait(kA, device.record(kB).value()));
    });
    CHECK(holds(device, b, 512, 1));
    REQUIRE(device.fill(b, 3, 512, kB));  // kB is free again
    CHECK(holds(device, b, 512, 3));
    REQUIRE(device.launch(graph, kC));
    CHECK(holds(device, b, 512, 2));
}

TEST_CASE("a capture ends in an error while work of a joined stream is not waited for") {
    SimDevice device(backed());
    const Address a = device.malloc(512).value();
    REQUIRE(device.begin_capture(kA));
    REQUIRE(device.wait(kB, device.record(kA).value()));
    REQUIRE(device.malloc_async(512, kB));
    CHECK(status_of(device.end_capture(kA)) == DeviceStatus::not_permitted);
    CHECK_FALSE(device.capturing());
    CHECK(status_of(device.end_capture(kA)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.launch(GraphId{1}, kA)) == DeviceStatus::invalid_value);
    REQUIRE(device.fill(a, 7, 512, kB));
    CHECK(holds(device, a, 512, 7));

    REQUIRE(device.begin_capture(kA));
    REQUIRE(device.wait(kB, device.record(kA).value()));  // no work: nothing to wait for
    CHECK(device.end_capture(kA));
}

TEST_CASE("captures keep apart from other work and from one another") {
    SimDevice device(backed());
    CHECK(status_of(device.begin_capture(StreamId::default_stream)) == DeviceStatus::not_permitted);
    const EventId eager = device.record(kC).value();
    REQUIRE(device.begin_capture(kA));
    REQUIRE(device.begin_capture(kB));
    const EventId in_a = device.record(kA).value();
    CHECK(status_of(device.wait(kA, eager)) == DeviceStatus::not_permitted);
    CHECK(status_of(device.wait(kB, in_a)) == DeviceStatus::not_permitted);
    CHECK(status_of(device.wait(StreamId::default_stream, in_a)) == DeviceStatus::not_permitted);
    const GraphId graph = device.end_capture(kB).value();
    CHECK(device.capturing());
    CHECK(status_of(device.launch(graph, kA)) == DeviceStatus::not_permitted);
    CHECK(device.launch(graph, kC));
    REQUIRE(device.end_capture(kA));
    CHECK(device.complete(eager).value());
}

TEST_CASE("an event of a capture that is over stands for the work before it") {
    SimDevice device({.profile = &simple_profile()});
    const Address a = device.malloc(4096).value();
    REQUIRE(device.fill(a, 0, 1000, kA));
    REQUIRE(device.begin_capture(kA));
    REQUIRE(device.fill(a, 0, 4096, kA));
    const EventId event = device.record(kA).value();
    REQUIRE(device.end_capture(kA));
    CHECK_FALSE(device.complete(event).value());
    REQUIRE(device.wait(kB, event));
    REQUIRE(device.fill(a, 0, 1, kB));
    REQUIRE(device.synchronize(kB));
    CHECK(device.now() == 1001);
    CHECK(device.complete(event).value());
}

TEST_CASE("work outside of a capture goes on during it") {
    SimDevice device(backed());
    const Address a = device.malloc(512).value();
    REQUIRE(device.begin_capture(kA));
    REQUIRE(device.fill(a, 5, 512, kB));
    CHECK(holds(device, a, 512, 5));
    const Address pool = device.malloc_async(512, kB).value();
    CHECK(device.fill(pool, 1, 512, kB));
    CHECK(status_of(device.free_async(pool, kA)) == DeviceStatus::invalid_value);
    CHECK(device.free_async(pool, kB));
    REQUIRE(device.end_capture(kA));
}

TEST_CASE("memory of a graph's own has its address from the capture on, and is memory in it only") {
    SimDevice device(backed());
    const Address out = device.malloc(512).value();
    Address own = Address::null;
    const GraphId graph = capture(device, [&] {
        own = device.malloc_async(512, kA).value();
        CHECK(status_of(device.fill(own, 1, 512, kB)) == DeviceStatus::invalid_value);
        CHECK(status_of(device.fill(own, 1, 513, kA)) == DeviceStatus::invalid_value);
        REQUIRE(device.fill(own, 1, 512, kA));
        REQUIRE(device.copy(out, own, 512, kA));
        REQUIRE(device.free_async(own, kA));
        CHECK(status_of(device.free_async(own, kA)) == DeviceStatus::invalid_value);
        CHECK(status_of(device.fill(own, 1, 512, kA)) == DeviceStatus::invalid_value);
        CHECK(device.malloc_async(512, kA).value() != own);
    });
    CHECK(device.memory().free == 1_GiB - 512);
    CHECK(status_of(device.fill(own, 1, 512, kA)) == DeviceStatus::invalid_value);
    REQUIRE(device.launch(graph, kA));
    CHECK(holds(device, out, 512, 1));
    CHECK(status_of(device.copy(out, own, 512, kA)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.free_async(own, kA)) == DeviceStatus::invalid_value);
}

TEST_CASE(
    "memory that a graph leaves is live until it is freed, or the next launch makes it again") {
    const bool auto_free = GENERATE(true, false);
    SimConfig config = backed();
    config.auto_free = auto_free;
    SimDevice device(config);
    Address own = Address::null;
    const GraphId graph = capture(device, [&] {
        own = device.malloc_async(1024, kA).value();
        REQUIRE(device.fill(own, 1, 512, kA));
    });
    REQUIRE(device.launch(graph, kA));
    CHECK(holds(device, own, 512, 1));
    REQUIRE(device.fill(own, 2, 1024, kA));
    CHECK(holds(device, own, 1024, 2));
    if (auto_free) {
        REQUIRE(device.launch(graph, kA));
        CHECK(holds(device, own, 512, 1));
        CHECK(holds(device, own + 512, 512, 0xa5));  // made again: nobody has written it
    } else {
        CHECK(status_of(device.launch(graph, kA)) == DeviceStatus::invalid_value);
        CHECK(holds(device, own, 1024, 2));
    }
    SECTION("freed in stream order") {
        REQUIRE(device.free_async(own, kB));
        CHECK(status_of(device.free_async(own, kB)) == DeviceStatus::invalid_value);
    }
    SECTION("freed at once") {
        REQUIRE(device.free(own));
        CHECK(status_of(device.free(own)) == DeviceStatus::invalid_value);
    }
    CHECK(status_of(device.fill(own, 1, 1, kA)) == DeviceStatus::invalid_value);
    REQUIRE(device.launch(graph, kA));
    CHECK(holds(device, own, 512, 1));
}

TEST_CASE("a destroyed graph leaves the memory that was not given back") {
    SimDevice device(backed());
    Address own = Address::null;
    const auto make = [&] { own = device.malloc_async(512, kA).value(); };
    const GraphId graph = capture(device, make);
    REQUIRE(device.launch(graph, kA));
    REQUIRE(device.fill(own, 3, 512, kA));
    REQUIRE(device.destroy_graph(graph));
    CHECK(holds(device, own, 512, 3));
    REQUIRE(device.trim_pool(0));
    CHECK(device.memory().free < 1_GiB);
    REQUIRE(device.free_async(own, kA));
    REQUIRE(device.trim_pool(0));
    CHECK(device.memory().free == 1_GiB);
    CHECK(status_of(device.fill(own, 3, 512, kA)) == DeviceStatus::invalid_value);
}

TEST_CASE("graph memory is counted when it is bound, as what a graph needs at the same time") {
    SimDevice device({.capacity = 1_GiB});
    const GraphId chain = capture(device, [&] {
        for (int i = 0; i < 5; ++i) {
            const Address own = device.malloc_async(20_MiB, kA).value();
            REQUIRE(device.free_async(own, kA));
        }
    });
    const GraphId pair = capture(device, [&] {
        const Address one = device.malloc_async(20_MiB, kA).value();
        const Address two = device.malloc_async(20_MiB, kA).value();
        REQUIRE(device.free_async(one, kA));
        REQUIRE(device.free_async(two, kA));
        REQUIRE(device.malloc_async(40_MiB, kA));
    });
    CHECK(device.memory().free == 1_GiB);
    REQUIRE(device.launch(chain, kA));
    CHECK(1_GiB - device.memory().free == 32_MiB);
    REQUIRE(device.launch(chain, kA));
    CHECK(1_GiB - device.memory().free == 32_MiB);
    REQUIRE(device.launch(pair, kA));
    CHECK(1_GiB - device.memory().free == 96_MiB);
    REQUIRE(device.destroy_graph(chain));
    REQUIRE(device.synchronize_device());
    CHECK(1_GiB - device.memory().free == 96_MiB);  // kept for other graphs
    REQUIRE(device.trim_pool(0));
    CHECK(1_GiB - device.memory().free == 64_MiB);  // what `pair` left is live
}

TEST_CASE("inside a graph memory is used again only by what comes after its free") {
    const bool ordered = GENERATE(true, false);
    SimDevice device({.capacity = 1_GiB});
    const GraphId graph = capture(device, [&] {
        REQUIRE(device.wait(kB, device.record(kA).value()));
        const Address one = device.malloc_async(20_MiB, kA).value();
        REQUIRE(device.free_async(one, kA));
        if (ordered)
            REQUIRE(device.wait(kB, device.record(kA).value()));
        const Address two = device.malloc_async(20_MiB, kB).value();
        REQUIRE(device.free_async(two, kB));
        REQUIRE(device.wait(kA, device.record(kB).value()));
    });
    REQUIRE(device.launch(graph, kA));
    CHECK(1_GiB - device.memory().free == (ordered ? 32_MiB : 64_MiB));
}

TEST_CASE("graphs share memory when they cannot run together, or else wait for it") {
    const SimConfig config{.capacity = 100_MiB, .profile = &simple_profile()};
    SimDevice device(config);
    const Address in = device.malloc(1_MiB).value();
    const auto work = [&] {
        const Address own = device.malloc_async(20_MiB, kA).value();
        REQUIRE(device.copy(own, in, 1_MiB, kA));
        REQUIRE(device.free_async(own, kA));
    };
    const GraphId graphs[] = {capture(device, work), capture(device, work), capture(device, work),
                              capture(device, work)};
    const Bytes free = device.memory().free;
    REQUIRE(device.launch(graphs[0], kA));
    REQUIRE(device.launch(graphs[1], kA));
    CHECK(free - device.memory().free == 32_MiB);
    REQUIRE(device.launch(graphs[2], kB));
    REQUIRE(device.launch(graphs[2], kC));  // after its last launch, in the same memory
    CHECK(free - device.memory().free == 64_MiB);
    REQUIRE(device.launch(graphs[3], StreamId{4}));
    CHECK(free - device.memory().free == 96_MiB);
    const Nanoseconds before = device.now();
    REQUIRE(device.synchronize(StreamId{4}));
    CHECK(device.now() - before < static_cast<Nanoseconds>(1_MiB) + 1000);

    SimDevice tight({.capacity = 40_MiB, .profile = &simple_profile()});
    const Address there = tight.malloc(1_MiB).value();
    const auto same = [&] {
        const Address own = tight.malloc_async(20_MiB, kA).value();
        REQUIRE(tight.copy(own, there, 1_MiB, kA));
        REQUIRE(tight.free_async(own, kA));
    };
    const GraphId one = capture(tight, same);
    const GraphId two = capture(tight, same);
    REQUIRE(tight.launch(one, kA));
    REQUIRE(tight.launch(two, kB));
    REQUIRE(tight.synchronize(kB));
    CHECK(tight.now() >= 2 * static_cast<Nanoseconds>(1_MiB));
}

TEST_CASE("a launch without memory for the graph is refused and leaves everything as it was") {
    SimConfig config = backed(64_MiB);
    config.auto_free = true;
    SimDevice device(config);
    Address own = Address::null;
    const GraphId graph = capture(device, [&] { own = device.malloc_async(40_MiB, kA).value(); });
    const Address plain = device.malloc(8_MiB).value();
    REQUIRE(device.fill(plain, 4, 512, kA));
    CHECK(status_of(device.launch(graph, kA)) == DeviceStatus::out_of_memory);
    CHECK(device.memory().free == 56_MiB);
    CHECK(holds(device, plain, 512, 4));
    REQUIRE(device.free(plain));
    REQUIRE(device.launch(graph, kA));
    CHECK(device.memory().free == 0);
    CHECK(device.launch(graph, kB));  // in the memory of its last launch
    CHECK(device.free_async(own, kB));
}

TEST_CASE("a launch that names memory which is gone faults, and nothing has happened") {
    SimDevice device(backed());
    const Address a = device.malloc(512).value();
    const Address b = device.malloc(512).value();
    const Range range = device.reserve(32_MiB).value();
    const PhysicalId page = device.create({}, 2_MiB).value();
    REQUIRE(device.map({range.begin, 2_MiB}, page));
    REQUIRE(device.set_access({range.begin, 2_MiB}, true));
    REQUIRE(device.fill(range.begin, 1, 512, kA));
    const GraphId graph = capture(device, [&] {
        REQUIRE(device.fill(b, 9, 512, kA));
        REQUIRE(device.copy(a, range.begin, 512, kA));
    });
    REQUIRE(device.fill(b, 8, 512, kA));
    SECTION("plain memory") {
        REQUIRE(device.free(a));
    }
    SECTION("a mapping") {
        REQUIRE(device.unmap({range.begin, 2_MiB}));
    }
    CHECK(status_of(device.launch(graph, kA)) == DeviceStatus::fault);
    CHECK(holds(device, b, 512, 8));
}

TEST_CASE("a launch goes through the page table as it is then") {
    SimDevice device(backed());
    const Address out = device.malloc(512).value();
    const Range range = device.reserve(32_MiB).value();
    const Range first{range.begin, 2_MiB};
    const PhysicalId one = device.create({}, 2_MiB).value();
    const PhysicalId two = device.create({}, 2_MiB).value();
    const auto use = [&](PhysicalId page, std::uint8_t value) {
        REQUIRE(device.map(first, page));
        REQUIRE(device.set_access(first, true));
        REQUIRE(device.fill(range.begin, value, 512, kA));
    };
    use(one, 1);
    const GraphId graph = capture(device, [&] { REQUIRE(device.copy(out, range.begin, 512, kA)); });
    REQUIRE(device.launch(graph, kA));
    CHECK(holds(device, out, 512, 1));
    REQUIRE(device.unmap(first));
    use(two, 2);
    REQUIRE(device.launch(graph, kA));
    CHECK(holds(device, out, 512, 2));
}

TEST_CASE("a launch lasts as long as the longest chain of its steps, and follows the last one") {
    SimDevice device({.profile = &simple_profile()});
    const Address a = device.malloc(4096).value();
    const GraphId graph = capture(device, [&] {
        REQUIRE(device.fill(a, 0, 100, kA));
        REQUIRE(device.wait(kB, device.record(kA).value()));
        REQUIRE(device.fill(a, 0, 1000, kA));
        REQUIRE(device.fill(a, 0, 3000, kB));
        REQUIRE(device.wait(kA, device.record(kB).value()));
        REQUIRE(device.fill(a, 0, 10, kA));
    });
    CHECK(device.now() == 0);
    REQUIRE(device.launch(graph, kA));
    CHECK(device.now() == 140);  // 100, and 10 for each of 4 steps
    const EventId first = device.record(kA).value();
    REQUIRE(device.launch(graph, kC));
    CHECK_FALSE(device.complete(first).value());
    REQUIRE(device.synchronize(kA));
    CHECK(device.now() == 3110);
    REQUIRE(device.synchronize(kC));
    CHECK(device.now() == 2 * 3110);
    CHECK(device.counters().call_ns[static_cast<std::size_t>(DeviceCall::launch)] == 280);
}

TEST_CASE("a clone has captures, graphs and graph memory of its own") {
    SimDevice device(backed());
    const Address out = device.malloc(512).value();
    Address own = Address::null;
    const GraphId graph = capture(device, [&] {
        own = device.malloc_async(512, kA).value();
        REQUIRE(device.fill(own, 1, 512, kA));
        REQUIRE(device.copy(out, own, 512, kA));
    });
    REQUIRE(device.launch(graph, kA));
    REQUIRE(device.begin_capture(kB));
    const auto twin = device.clone();
    CHECK(twin->capturing());
    CHECK(holds(*twin, own, 512, 1));
    REQUIRE(twin->fill(own, 2, 512, kA));
    CHECK(holds(device, own, 512, 1));
    REQUIRE(twin->fill(out, 3, 512, kB));  // captured there
    const GraphId other = twin->end_capture(kB).value();
    CHECK(other != graph);
    CHECK(device.capturing());
    REQUIRE(twin->launch(other, kA));
    CHECK(holds(*twin, out, 512, 3));
    CHECK(holds(device, out, 512, 1));
    CHECK(device.end_capture(kB).value() == other);
}
