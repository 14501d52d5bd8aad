// The checker's view of the device: page tables, handles, the pool, movement, leaks.
#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/checked.h"
#include "backends/wrap/faulty.h"
#include "tests/backends/wrap/only_hazard.h"
#include "tests/support/device.h"

using namespace tidemark;
using support::kA;
using support::kB;

namespace {

// A checked device, and grants that a test makes up.
struct DeviceScene {
    explicit DeviceScene(std::size_t most_past = 1000) : checker(most_past) {}

    SimDevice sim{SimConfig{.capacity = 1_GiB}};
    FaultyDevice faulty{sim, FaultPlan{}};
    Checker checker;
    CheckedDevice device{faulty, checker};

    Allocation grant(std::uint64_t event, Range range, StreamId stream = kA) {
        checker.set_event(event);
        const Allocation allocation{.address = range.begin, .size = range.size};
        checker.granted({.size = range.size, .stream = stream}, allocation);
        return allocation;
    }

    void drop(std::uint64_t event, const Allocation& allocation) {
        checker.set_event(event);
        checker.deallocating(allocation);
    }

    void map_page(Address at, PhysicalId page) {
        REQUIRE(device.map({at, 2_MiB}, page));
        REQUIRE(device.set_access({at, 2_MiB}, true));
    }

    // A reservation with one page of 2 MiB mapped at its begin, accessible.
    Range mapped_page(PhysicalId* handle = nullptr) {
        const Range range = device.reserve(32_MiB).value();
        const PhysicalId page = device.create({}, 2_MiB).value();
        map_page(range.begin, page);
        if (handle)
            *handle = page;
        return range;
    }

    void must_find(HazardKind kind, std::uint64_t first, std::uint64_t second) const {
        support::check_only_hazard(checker, kind, first, second);
    }
};

}  // namespace

TEST_CASE("a grant in a reservation must be mapped, all of it, with access") {
    DeviceScene scene;
    const Range range = scene.mapped_page();
    scene.grant(1, {range.begin, 2_MiB});
    CHECK(scene.checker.count() == 0);
    scene.grant(2, {range.begin + 2_MiB, 512});
    scene.must_find(HazardKind::out_of_bounds, 2, 2);
    const PhysicalId page = scene.device.create({}, 2_MiB).value();
    REQUIRE(scene.device.map({range.begin + 4_MiB, 2_MiB}, page));
    scene.grant(3, {range.begin + 4_MiB, 512});
    CHECK(scene.checker.count(HazardKind::out_of_bounds) == 2);
    REQUIRE(scene.device.set_access({range.begin + 4_MiB, 2_MiB}, true));
    scene.grant(4, {range.begin + 5_MiB, 1_MiB});
    CHECK(scene.checker.count() == 2);
    scene.grant(5, {range.begin + (6_MiB - 512), 1024});
    CHECK(scene.checker.count(HazardKind::out_of_bounds) == 3);
}

TEST_CASE("a grant may not reach from one allocation of the device into the next") {
    DeviceScene scene;
    const Address a = scene.device.malloc(512).value();
    REQUIRE(scene.device.malloc(512).value() == a + 512);
    scene.grant(1, {a, 1024});
    scene.must_find(HazardKind::out_of_bounds, 1, 1);
}

TEST_CASE("two mappings of one handle share their bytes: granting both is an overlap") {
    DeviceScene scene;
    PhysicalId page{};
    const Range range = scene.mapped_page(&page);
    scene.map_page(range.begin + 4_MiB, page);
    scene.grant(1, {range.begin, 1_MiB});
    scene.grant(2, {range.begin + 5_MiB, 1_MiB});
    CHECK(scene.checker.count() == 0);
    scene.grant(3, {range.begin + (5_MiB - 512), 512});
    scene.must_find(HazardKind::overlap, 1, 3);
}

TEST_CASE("reuse through another mapping is still reuse") {
    DeviceScene scene;
    PhysicalId page{};
    const Range range = scene.mapped_page(&page);
    scene.map_page(range.begin + 4_MiB, page);
    scene.drop(2, scene.grant(1, {range.begin, 1_MiB}, kA));
    scene.grant(3, {range.begin + 4_MiB, 512}, kB);
    scene.must_find(HazardKind::reuse_before_completion, 2, 3);
}

TEST_CASE("unmapping one of two mappings concerns only what was used through it") {
    DeviceScene scene;
    PhysicalId page{};
    const Range range = scene.mapped_page(&page);
    scene.map_page(range.begin + 4_MiB, page);
    scene.drop(2, scene.grant(1, {range.begin, 1_MiB}, kA));
    scene.checker.set_event(3);
    REQUIRE(scene.device.unmap({range.begin + 4_MiB, 2_MiB}));
    CHECK(scene.checker.count() == 0);
    scene.checker.set_event(4);
    REQUIRE(scene.device.unmap({range.begin, 2_MiB}));
    scene.must_find(HazardKind::unmap_in_flight, 2, 4);
}

TEST_CASE("unmapping under a live allocation is found, also from its middle") {
    DeviceScene scene;
    const Range range = scene.mapped_page();
    const PhysicalId page = scene.device.create({}, 2_MiB).value();
    scene.map_page(range.begin + 2_MiB, page);
    scene.grant(1, {range.begin + 1_MiB, 2_MiB});
    CHECK(scene.checker.count() == 0);
    scene.checker.set_event(2);
    REQUIRE(scene.device.unmap({range.begin + 2_MiB, 2_MiB}));
    scene.must_find(HazardKind::unmap_in_flight, 1, 2);
}

TEST_CASE("unmapping is fine when the host has seen the work end, not when only a stream will") {
    DeviceScene scene;
    const Range range = scene.mapped_page();
    scene.drop(2, scene.grant(1, {range.begin, 512}, kA));
    REQUIRE(scene.device.wait(kB, scene.device.record(kA).value()));
    SECTION("a stream waits") {
        scene.checker.set_event(3);
        REQUIRE(scene.device.unmap({range.begin, 2_MiB}));
        scene.must_find(HazardKind::unmap_in_flight, 2, 3);
    }
    SECTION("the host waits for that stream") {
        REQUIRE(scene.device.synchronize(kB));
        REQUIRE(scene.device.unmap({range.begin, 2_MiB}));
        CHECK(scene.checker.count() == 0);
    }
}

TEST_CASE("unreserving with a mapping inside is found") {
    DeviceScene scene;
    scene.checker.set_event(5);
    const Range range = scene.mapped_page();
    scene.checker.set_event(6);
    CHECK_FALSE(scene.device.unreserve(range));
    scene.must_find(HazardKind::unmap_in_flight, 5, 6);
}

TEST_CASE("giving back twice is told from giving back the unknown, for every kind of memory") {
    DeviceScene scene;
    const Address plain = scene.device.malloc(512).value();
    const Address pool = scene.device.malloc_async(512, kA).value();
    const Address host = scene.device.host_malloc(512).value();
    PhysicalId page{};
    const Range range = scene.mapped_page(&page);
    const auto give_back = [&] {
        (void)scene.device.free(plain);
        (void)scene.device.free_async(pool, kA);
        (void)scene.device.host_free(host);
        (void)scene.device.unmap({range.begin, 2_MiB});
        (void)scene.device.release(page);
        (void)scene.device.unreserve(range);
    };
    scene.checker.set_event(1);
    give_back();
    CHECK(scene.checker.count() == 0);
    scene.checker.set_event(2);
    give_back();
    CHECK(scene.checker.count(HazardKind::double_free) == 6);
    for (const Hazard& hazard : scene.checker.hazards()) {
        CHECK(hazard.first_event == 1);
        CHECK(hazard.second_event == 2);
    }
    (void)scene.device.free(Address{512});
    (void)scene.device.free_async(Address{512}, kA);
    (void)scene.device.host_free(Address{512});
    (void)scene.device.unmap({Address{512}, 2_MiB});
    (void)scene.device.release(PhysicalId{99});
    (void)scene.device.unreserve({Address{512}, 2_MiB});
    CHECK(scene.checker.count(HazardKind::unknown_free) == 6);
    CHECK(scene.checker.count() == 12);
}

TEST_CASE("an address that is given out again can be given back again") {
    DeviceScene scene;
    const Address a = scene.device.malloc(512).value();
    REQUIRE(scene.device.free(a));
    REQUIRE(scene.device.malloc(512).value() == a);
    REQUIRE(scene.device.free(a));
    CHECK(scene.checker.count() == 0);
}

TEST_CASE("freeing live memory by the wrong call is no double free, though it was freed before") {
    DeviceScene scene;
    const Address a = scene.device.malloc(512).value();
    REQUIRE(scene.device.free(a));
    REQUIRE(scene.device.malloc(512).value() == a);
    CHECK_FALSE(scene.device.host_free(a));
    CHECK(scene.checker.count(HazardKind::unknown_free) == 1);
    CHECK(scene.checker.count() == 1);
}

TEST_CASE("a call that fails for another reason is nobody's hazard") {
    DeviceScene scene;
    const Address a = scene.device.malloc(512).value();
    PhysicalId page{};
    const Range range = scene.mapped_page(&page);
    scene.faulty.set_plan({.nth = 1, .status = DeviceStatus::fault, .and_all_after = true});
    CHECK_FALSE(scene.device.free(a));
    CHECK_FALSE(scene.device.unmap({range.begin, 2_MiB}));
    CHECK_FALSE(scene.device.release(page));
    CHECK_FALSE(scene.device.malloc(512));
    CHECK_FALSE(scene.device.record(kA));
    scene.faulty.set_plan({});
    CHECK(scene.checker.count() == 0);
    REQUIRE(scene.device.free(a));
    REQUIRE(scene.device.unmap({range.begin, 2_MiB}));
    REQUIRE(scene.device.release(page));
    REQUIRE(scene.device.unreserve(range));
    scene.checker.finish();
    CHECK(scene.checker.count() == 0);
}

TEST_CASE("a failed free does not count as waiting for the device") {
    DeviceScene scene;
    const Address a = scene.device.malloc(1024).value();
    scene.drop(2, scene.grant(1, {a, 512}, kA));
    CHECK_FALSE(scene.device.free(a + 512));
    CHECK(scene.checker.count(HazardKind::unknown_free) == 1);
    scene.grant(3, {a, 512}, kB);
    CHECK(scene.checker.count(HazardKind::reuse_before_completion) == 1);
}

TEST_CASE("everything still held at the end is a leak, with the event that took it") {
    DeviceScene scene;
    scene.checker.set_event(1);
    REQUIRE(scene.device.malloc(512));
    scene.checker.set_event(2);
    REQUIRE(scene.device.malloc_async(512, kA));
    scene.checker.set_event(3);
    REQUIRE(scene.device.host_malloc(512));
    scene.checker.set_event(4);
    scene.mapped_page();
    scene.checker.set_event(9);
    scene.checker.finish();
    CHECK(scene.checker.count(HazardKind::leak) == 6);  // the page is mapped, created, reserved
    std::vector<std::uint64_t> events;
    for (const Hazard& hazard : scene.checker.hazards()) {
        CHECK(hazard.second_event == 9);
        events.push_back(hazard.first_event);
    }
    std::ranges::sort(events);
    CHECK(events == std::vector<std::uint64_t>{1, 2, 3, 4, 4, 4});
}

TEST_CASE("a mapping outlives its released handle, and is the only leak then") {
    DeviceScene scene;
    PhysicalId page{};
    const Range range = scene.mapped_page(&page);
    REQUIRE(scene.device.release(page));
    scene.checker.finish();
    CHECK(scene.checker.count(HazardKind::leak) == 2);  // the mapping and the reservation
    CHECK(scene.checker.hazards()[1].what.find("was not unmapped") != std::string::npos);
    CHECK(range.size == 32_MiB);
}

TEST_CASE("stream-ordered memory belongs to its stream first") {
    DeviceScene scene;
    scene.checker.set_event(1);
    const Address a = scene.device.malloc_async(4096, kA).value();
    SECTION("granted to that stream") {
        scene.grant(2, {a, 512}, kA);
        CHECK(scene.checker.count() == 0);
    }
    SECTION("granted to another") {
        scene.grant(2, {a, 512}, kB);
        scene.must_find(HazardKind::reuse_before_completion, 1, 2);
    }
    SECTION("granted to another that has waited") {
        REQUIRE(scene.device.wait(kB, scene.device.record(kA).value()));
        scene.grant(2, {a, 512}, kB);
        CHECK(scene.checker.count() == 0);
    }
}

TEST_CASE("free_async must come after the work on other streams") {
    DeviceScene scene;
    const Address a = scene.device.malloc_async(4096, kA).value();
    const Allocation allocation = scene.grant(1, {a, 512}, kA);
    scene.checker.used_on(allocation, kB);
    scene.drop(2, allocation);
    SECTION("it does not") {
        scene.checker.set_event(3);
        REQUIRE(scene.device.free_async(a, kA));
        scene.must_find(HazardKind::unmap_in_flight, 2, 3);
    }
    SECTION("it does") {
        REQUIRE(scene.device.wait(kA, scene.device.record(kB).value()));
        REQUIRE(scene.device.free_async(a, kA));
        CHECK(scene.checker.count() == 0);
    }
}

TEST_CASE("copies and fills outside of accessible memory are out of bounds") {
    DeviceScene scene;
    const Address a = scene.device.malloc(4096).value();
    const Address host = scene.device.host_malloc(4096).value();
    const Range range = scene.mapped_page();
    scene.checker.set_event(1);
    CHECK(scene.device.copy(a, host, 4096, kA));
    CHECK(scene.device.fill(range.begin, 0, 2_MiB, kA));
    CHECK(scene.checker.count() == 0);
    CHECK_FALSE(scene.device.fill(a, 0, 8192, kA));
    scene.must_find(HazardKind::out_of_bounds, 1, 1);
    CHECK_FALSE(scene.device.copy(a, range.begin + 2_MiB, 16, kA));
    CHECK(scene.checker.count(HazardKind::out_of_bounds) == 2);
    REQUIRE(scene.device.set_access({range.begin, 2_MiB}, false));
    CHECK(scene.device.copy(a, range.begin, 16, kA));
    CHECK(scene.checker.count(HazardKind::out_of_bounds) == 2);
    CHECK_FALSE(scene.device.copy(range.begin, a, 16, kA));
    CHECK(scene.checker.count(HazardKind::out_of_bounds) == 3);
}

TEST_CASE("past work that is forgotten to save memory never hides or invents a hazard") {
    DeviceScene scene(4);
    const Address a = scene.device.malloc(64_KiB).value();
    for (std::uint64_t i = 0; i < 64; ++i) {
        // Every other slot's work is seen by the host; the rest may still run.
        scene.drop(i, scene.grant(i, {a + i * 1024, 512}, i % 2 == 0 ? kA : kB));
        if (i % 16 == 8)
            REQUIRE(scene.device.synchronize(kA));
    }
    REQUIRE(scene.device.synchronize(kA));
    CHECK(scene.checker.count() == 0);
    for (std::uint64_t i = 0; i < 64; ++i)
        scene.grant(100 + i, {a + i * 1024, 512}, StreamId{7});
    CHECK(scene.checker.count(HazardKind::reuse_before_completion) == 32);
    CHECK(scene.checker.count() == 32);
    CHECK(scene.checker.hazards().front().first_event == 1);
    CHECK(scene.checker.hazards().front().second_event == 101);
}

TEST_CASE("adjacent past work of one stream is joined and still found") {
    DeviceScene scene(4);
    const Address a = scene.device.malloc(64_KiB).value();
    for (std::uint64_t i = 0; i < 100; ++i)
        scene.drop(i, scene.grant(i, {a + i * 512, 512}, kA));
    for (std::uint64_t i = 0; i < 100; ++i)
        scene.grant(200 + i, {a + i * 512, 512}, i % 2 == 0 ? kA : kB);
    CHECK(scene.checker.count(HazardKind::reuse_before_completion) == 50);
    CHECK(scene.checker.count() == 50);
}

TEST_CASE("only the first hundred hazards are kept, but all are counted") {
    DeviceScene scene;
    for (int i = 0; i < 150; ++i)
        (void)scene.device.free(Address{512});
    CHECK(scene.checker.hazards().size() == Checker::kMostKept);
    CHECK(scene.checker.count() == 150);
    CHECK(scene.checker.count(HazardKind::unknown_free) == 150);
}

TEST_CASE("every hazard kind has a name") {
    for (int i = 0; i < kHazardKindCount; ++i)
        CHECK_FALSE(to_text(static_cast<HazardKind>(i)).empty());
    CHECK(to_text(HazardKind::reuse_before_completion) == "reuse_before_completion");
    CHECK(to_text(HazardKind::illegal_in_capture) == "illegal_in_capture");
}
