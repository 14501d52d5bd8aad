// torch with expandable segments: growth, holes, unmapping, limits and refusals, one by one.
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "backends/wrap/faulty.h"
#include "backends/wrap/scripted.h"
#include "core/allocator/spec.h"
#include "tests/support/policy.h"

using namespace tidemark;
using support::calls;
using support::must_allocate;

namespace {

// torch on a device that maps whatever it is asked to. Places are MiB from the first large one.
struct ExpandableFixture {
    explicit ExpandableFixture(const std::string& more = "", Bytes capacity = 64_GiB)
        : device(capacity),
          allocator(*parse_policy("torch:expandable_segments:True" + more)->make(device)) {}

    Allocation allocate(Bytes size, std::uint32_t stream = 0) {
        const Allocation granted = must_allocate(*allocator, size, StreamId{stream});
        if (base == Address::null)
            base = granted.address;
        return granted;
    }

    void free(const Allocation& allocation) {
        allocator->deallocate(allocation, StreamId::default_stream);
    }

    Bytes placement(const Allocation& allocation) const { return allocation.address - base; }

    // What was mapped and unmapped so far: "map 0+40, unmap 20+20".
    std::string log() const {
        std::string text;
        for (const ScriptedDevice::Call& call : device.log()) {
            const std::string_view name = call.call == DeviceCall::set_access ? "map"
                                          : call.call == DeviceCall::unmap    ? "unmap"
                                                                              : "other";
            text += fmt::format("{}{} {}+{}", text.empty() ? "" : ", ", name,
                                (call.range.begin - base) >> 20U, call.range.size >> 20U);
        }
        return text;
    }

    Bytes reserved() const { return allocator->usage().reserved; }

    void reconfigure(const std::string& policy) {
        REQUIRE(allocator->reconfigure(parse_policy(policy)->options));
    }

    ScriptedDevice device;
    std::unique_ptr<Allocator> allocator;
    Address base = Address::null;
};

std::vector<SeedSegment> two_runs(Address base) {
    SeedSegment low{.range = {base, 20_MiB}, .expandable = true, .reserved = base, .blocks = {}};
    low.blocks.push_back({base, 15_MiB, 15_MiB, false});
    SeedSegment high{
        .range = {base + 40_MiB, 40_MiB}, .expandable = true, .reserved = base, .blocks = {}};
    high.blocks.push_back({base + 70_MiB, 10_MiB, 10_MiB, false});
    return {low, high};
}

}  // namespace

TEST_CASE("an expandable segment grows by what is missing, in whole pages", "[torch]") {
    ExpandableFixture torch;
    torch.allocate(30_MiB);
    const Allocation second = torch.allocate(12_MiB);
    const Allocation third = torch.allocate(18_MiB);

    CHECK(torch.log() == "map 0+40, map 40+20");
    CHECK(torch.placement(second) == 30_MiB);
    CHECK(torch.placement(third) == 42_MiB);
    CHECK(torch.reserved() == 60_MiB);
    CHECK(torch.allocator->usage().mapped == 60_MiB);
    CHECK(torch.allocator->stats().maps == 2);
    CHECK(torch.allocator->stats().segments_created == 0);
}

TEST_CASE("small requests have a reservation of their own, in pages of 2 MiB", "[torch]") {
    ExpandableFixture torch;
    const Allocation first = torch.allocate(100);
    torch.allocate(1_MiB);
    const Allocation third = torch.allocate(1_MiB);  // the page has 512 bytes too few

    CHECK(torch.log() == "map 0+2, map 2+2");
    CHECK(torch.placement(third) == 1_MiB + 512);
    torch.allocate(2_MiB);
    CHECK(torch.reserved() == 24_MiB);
    torch.free(first);
    CHECK(torch.allocate(512).address == first.address);
}

TEST_CASE("expandable blocks are split to the last 512 bytes", "[torch]") {
    ExpandableFixture torch;

    CHECK(torch.allocate(20_MiB - 512).size == 20_MiB - 512);
    CHECK(torch.allocate(19_MiB + 512).size == 19_MiB + 512);
    CHECK(torch.allocate(512).size == 512);
}

TEST_CASE("a hole inside is preferred to the end that could grow", "[torch]") {
    ExpandableFixture torch;
    const Allocation hole = torch.allocate(14_MiB);
    torch.allocate(2_MiB);  // the end has 4 MiB left: a tighter fit for 3
    torch.free(hole);

    CHECK(torch.placement(torch.allocate(3_MiB)) == 0);
    CHECK(torch.log() == "map 0+20");
}

TEST_CASE("of the holes inside, the tightest is taken", "[torch]") {
    ExpandableFixture torch;
    const Allocation wide = torch.allocate(6_MiB);
    torch.allocate(2_MiB);
    const Allocation tight = torch.allocate(5_MiB);
    torch.allocate(3_MiB);  // and 4 at the end
    torch.free(wide);
    torch.free(tight);

    CHECK(torch.allocate(3_MiB).address == tight.address);
}

TEST_CASE("the end that can grow serves when nothing else fits", "[torch]") {
    ExpandableFixture torch;
    const Allocation hole = torch.allocate(14_MiB);
    torch.allocate(2_MiB);
    torch.free(hole);
    torch.allocate(14_MiB);

    CHECK(torch.placement(torch.allocate(4_MiB)) == 16_MiB);
    CHECK(torch.log() == "map 0+20");
}

TEST_CASE("a request over several gaps maps each of them, upwards", "[torch]") {
    ExpandableFixture torch;
    const Allocation a = torch.allocate(20_MiB);
    const Allocation b = torch.allocate(20_MiB);
    const Allocation c = torch.allocate(20_MiB);
    torch.free(a);
    torch.allocator->trim(TrimLevel::all);
    torch.free(b);
    torch.free(c);

    const Allocation wide = torch.allocate(70_MiB);

    CHECK(torch.placement(wide) == 0);
    CHECK(torch.log() == "map 0+20, map 20+20, map 40+20, unmap 0+20, map 0+20, map 60+20");
    CHECK(torch.reserved() == 80_MiB);
}

TEST_CASE("unmapping leaves what is beside whole pages", "[torch]") {
    ExpandableFixture torch;
    torch.allocate(5_MiB);
    const Allocation middle = torch.allocate(50_MiB);
    torch.allocate(5_MiB);
    torch.free(middle);

    torch.allocator->trim(TrimLevel::all);

    CHECK(torch.log() == "map 0+20, map 20+40, unmap 20+20");
    CHECK(torch.reserved() == 40_MiB);
    CHECK(torch.allocator->stats().unmaps == 1);
    CHECK(torch.placement(torch.allocate(15_MiB)) == 40_MiB);  // its twin at 5 could grow
    CHECK(torch.placement(torch.allocate(16_MiB)) == 5_MiB);   // and does
    CHECK(torch.log() == "map 0+20, map 20+40, unmap 20+20, map 20+20");
}

TEST_CASE("a free block without a whole page is not unmapped", "[torch]") {
    ExpandableFixture torch;
    const Allocation low = torch.allocate(19_MiB);
    torch.allocate(2_MiB);
    torch.free(low);

    torch.allocator->trim(TrimLevel::all);

    CHECK(torch.log() == "map 0+20, map 20+20");
    CHECK(torch.reserved() == 40_MiB);
    CHECK(torch.allocate(19_MiB).address == low.address);
}

TEST_CASE("unmapped neighbours become one, below and above", "[torch]") {
    ExpandableFixture torch;
    const Allocation a = torch.allocate(20_MiB);
    const Allocation b = torch.allocate(20_MiB);
    const Allocation c = torch.allocate(20_MiB);
    torch.allocate(20_MiB);
    for (const Allocation& gone : {a, c, b}) {
        torch.free(gone);
        torch.allocator->trim(TrimLevel::all);
    }

    CHECK(torch.placement(torch.allocate(60_MiB)) == 0);  // one run of pages
    CHECK(torch.log().find("map 0+60") != std::string::npos);
}

TEST_CASE("a retry unmaps what is cached and maps it again", "[torch]") {
    ExpandableFixture torch(",limit=80MiB");
    const Allocation gone = torch.allocate(40_MiB);
    torch.allocate(20_MiB);
    torch.free(gone);

    CHECK(torch.placement(torch.allocate(41_MiB)) == 60_MiB);

    CHECK(torch.allocator->stats().retries == 1);
    CHECK(torch.log() == "map 0+40, map 40+20, unmap 0+40, map 60+60");
}

TEST_CASE("a limit counts the segment that a plain run would take", "[torch]") {
    ExpandableFixture strict(",limit=41MiB");
    strict.allocate(2_MiB);
    CHECK(support::must_refuse(*strict.allocator, 24_MiB).cause == OutOfMemory::Cause::limit);
    CHECK(strict.reserved() == 20_MiB);  // though one more page would have been enough

    ExpandableFixture lenient(",limit=35MiB");
    lenient.allocate(10_MiB);
    lenient.allocate(12_MiB);  // 20 + 12 are within the limit, the page of 20 is not
    CHECK(lenient.reserved() == 40_MiB);
}

TEST_CASE("pages that were mapped before the device refused are kept", "[torch]") {
    ExpandableFixture torch("", 70_MiB);
    const Allocation a = torch.allocate(20_MiB);
    const Allocation b = torch.allocate(20_MiB);
    torch.free(a);
    torch.allocator->trim(TrimLevel::all);
    torch.free(b);
    torch.allocator->begin_pool(PoolId{1}, {});  // no retry in here

    // A gap of 20 below, then 20 free, then 40 more: the device has room for the first alone.
    CHECK(support::must_refuse(*torch.allocator, 80_MiB).cause == OutOfMemory::Cause::device_full);

    CHECK(torch.reserved() == 40_MiB);
    CHECK(torch.log() == "map 0+20, map 20+20, unmap 0+20, map 0+20");
    CHECK(torch.placement(torch.allocate(40_MiB)) == 0);
    CHECK(torch.allocator->stats().maps == 3);
}

TEST_CASE("each stream has its own reservations", "[torch]") {
    SimDevice device({.capacity = 1_GiB});
    const auto torch = support::make_policy("torch:expandable_segments:True", device);
    must_allocate(*torch, 2_MiB);
    must_allocate(*torch, 2_MiB, StreamId{1});
    must_allocate(*torch, 100, StreamId{1});
    must_allocate(*torch, 30_MiB);

    CHECK(calls(device, DeviceCall::reserve) == 3);
    CHECK(calls(device, DeviceCall::malloc) == 0);
    CHECK(torch->usage().reserved == 40_MiB + 20_MiB + 2_MiB);
}

TEST_CASE("a reservation without room for a request is followed by another one", "[torch]") {
    SimDevice device({.capacity = 80_MiB});  // addresses for 90 MiB: five pages
    const auto torch = support::make_policy("torch:expandable_segments:True", device);
    std::vector<Allocation> pages;
    for (int i = 0; i < 4; ++i)
        pages.push_back(must_allocate(*torch, 20_MiB));
    for (const std::size_t i : {0U, 2U})
        torch->deallocate(pages[i], StreamId::default_stream);
    torch->trim(TrimLevel::all);
    CHECK(calls(device, DeviceCall::reserve) == 1);

    const Allocation wide = must_allocate(*torch, 40_MiB);  // no two pages in a row are left

    CHECK(calls(device, DeviceCall::reserve) == 2);
    CHECK((wide.address < pages[0].address || wide.address >= pages[0].address + 100_MiB));
    CHECK(torch->stats().retries == 0);
}

TEST_CASE("a reservation without pages goes back to the device", "[torch]") {
    SimDevice device({.capacity = 1_GiB});
    const auto torch = support::make_policy("torch:expandable_segments:True", device);
    const Allocation block = must_allocate(*torch, 30_MiB);
    torch->deallocate(block, StreamId::default_stream);

    torch->trim(TrimLevel::all);

    CHECK(calls(device, DeviceCall::unreserve) == 1);
    CHECK(torch->usage().reserved == 0);
    CHECK(device.memory().free == 1_GiB);
    CHECK(support::regions_of(*torch).empty());
    must_allocate(*torch, 30_MiB);
    CHECK(calls(device, DeviceCall::reserve) == 2);
}

TEST_CASE("a reservation that never got memory goes back with its allocator", "[torch]") {
    SimDevice device({.capacity = 10_MiB});
    auto torch = support::make_policy("torch:expandable_segments:True", device);
    support::must_refuse(*torch, 2_MiB);
    support::must_refuse(*torch, 3_MiB);
    CHECK(calls(device, DeviceCall::reserve) == 1);
    CHECK(calls(device, DeviceCall::unreserve) == 0);

    torch.reset();

    CHECK(calls(device, DeviceCall::unreserve) == 1);
}

TEST_CASE("nothing of expandable segments is lost whichever call fails", "[torch]") {
    std::uint64_t nth = 0;
    std::uint64_t failures = 0;
    do {
        SimDevice sim({.capacity = 100_MiB});
        FaultyDevice device(sim, {.nth = ++nth, .status = DeviceStatus::fault});
        const auto torch = support::make_policy("torch:expandable_segments:True", device);
        std::vector<Allocation> live;
        for (const Bytes size : {30_MiB, 512_KiB, 24_MiB, 3_MiB, 60_MiB, 2_MiB}) {
            if (const auto granted = torch->allocate({.size = size}))
                live.push_back(*granted);
            REQUIRE(torch->usage().reserved == 100_MiB - sim.memory().free);
            if (live.size() > 1) {
                torch->deallocate(live.front(), StreamId::default_stream);
                live.erase(live.begin());
            }
            torch->trim(TrimLevel::all);
            REQUIRE(torch->usage().reserved == 100_MiB - sim.memory().free);
        }
        failures = device.failures();
        device.set_plan({});
        for (const Allocation& rest : live)
            torch->deallocate(rest, StreamId::default_stream);
        torch->trim(TrimLevel::all);
        INFO("call " << nth);
        CHECK(torch->usage().reserved == 0);
        CHECK(torch->usage().active == 0);
        CHECK(sim.memory().free == 100_MiB);
    } while (failures != 0 && nth < 500);
    CHECK(failures == 0);
    CHECK(nth > 40);
}

TEST_CASE("garbage collection leaves expandable segments alone", "[torch]") {
    const auto released = [](const std::string& expandable) {
        SimDevice device({.capacity = 1_GiB});
        const auto torch = support::make_policy(
            "torch:garbage_collection_threshold:0.1,limit=200MiB" + expandable, device);
        torch->deallocate(must_allocate(*torch, 40_MiB), StreamId::default_stream);
        must_allocate(*torch, 1);
        return torch->usage().reserved == 2_MiB;
    };

    CHECK(released(""));
    CHECK_FALSE(released(",expandable_segments:True"));
}

TEST_CASE("expandable segments switched off serve nothing, and on again they do", "[torch]") {
    ExpandableFixture torch;
    const Allocation before = torch.allocate(20_MiB);
    torch.free(before);

    torch.reconfigure("torch");
    const Allocation plain = torch.allocate(20_MiB - 512_KiB);
    CHECK(plain.address != before.address);
    CHECK(plain.size == 20_MiB);  // split as the setting now says
    CHECK(torch.allocator->stats().segments_created == 1);
    torch.free(plain);

    torch.reconfigure("torch:expandable_segments:True");
    const Allocation shared = torch.allocate(20_MiB - 512_KiB);
    CHECK(shared.address == plain.address);  // plain segments serve too: they cannot grow
    CHECK(shared.size == 20_MiB - 512_KiB);
    CHECK(torch.allocate(20_MiB).address == before.address);
}

TEST_CASE("both kinds of segments go back whatever the setting is now", "[torch]") {
    ExpandableFixture torch;
    const Allocation expandable = torch.allocate(20_MiB);
    torch.reconfigure("torch");
    const Allocation plain = torch.allocate(20_MiB);
    torch.free(expandable);
    torch.free(plain);

    torch.allocator->trim(TrimLevel::all);

    CHECK(torch.reserved() == 0);
    CHECK(torch.allocator->stats().segments_released == 1);
    CHECK(torch.allocator->stats().unmaps == 1);
}

TEST_CASE("torch goes on from runs of pages that a trace begins with", "[torch]") {
    ExpandableFixture torch;
    torch.base = Address{8_GiB};
    torch.device.hold_pages(60_MiB);

    const auto live = torch.allocator->restore(two_runs(torch.base));

    REQUIRE(live);
    REQUIRE(live->size() == 2);
    CHECK(torch.reserved() == 60_MiB);
    CHECK(torch.allocator->usage().allocated == 25_MiB);
    CHECK(torch.placement(torch.allocate(31_MiB)) == 15_MiB);  // over the gap, one page mapped
    CHECK(torch.log() == "map 20+20");
    torch.free((*live)[1]);
    torch.allocator->trim(TrimLevel::all);
    CHECK(torch.log() == "map 20+20, unmap 60+20");
    CHECK(torch.reserved() == 60_MiB);
}

TEST_CASE("torch rejects runs of pages that cannot be", "[torch]") {
    const Address base{8_GiB};
    std::vector<SeedSegment> runs = two_runs(base);
    SECTION("not at a page") {
        runs[1].range.begin = base + 41_MiB;
    }
    SECTION("half a page") {
        runs[1].range.size = 30_MiB;
    }
    SECTION("nothing") {
        runs[1].range.size = 0;
    }
    SECTION("one in the other") {
        runs[1].range.begin = base;
    }
    SECTION("out of order") {
        std::swap(runs[0], runs[1]);
    }
    SECTION("beyond the reservation") {
        runs[1].range.size = 80_GiB;
    }
    SECTION("behind the reservation") {
        runs[1].range.begin = base + 80_GiB;
    }
    SECTION("a block before its run") {
        runs[1].blocks[0].address = base + 30_MiB;
    }
    SECTION("a block beyond its run") {
        runs[1].blocks[0].size = 11_MiB;
    }
    SECTION("a block of nothing") {
        runs[1].blocks[0].size = 0;
    }
    SECTION("below its reservation") {
        runs.erase(runs.begin());
        runs[0].reserved = base + 60_MiB;
    }
    ExpandableFixture torch;

    const auto live = torch.allocator->restore(runs);

    REQUIRE_FALSE(live);
    CHECK(live.error().code == ErrorCode::bad_input);
}
