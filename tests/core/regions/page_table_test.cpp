// PageTable: pages at one place and at two, and every step undone if the device refuses a later
// one.
#include "core/regions/page_table.h"

#include <vector>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/faulty.h"
#include "tests/core/regions/pages.h"

namespace tidemark {
namespace {

using support::kPage;
using PageRange = PageTable::PageRange;
using State = PageTable::State;

// A table with one root of 16 pages on a device for eight.
struct Table {
    SimDevice sim{{.capacity = 8 * kPage}};
    FaultyDevice device{sim, {}};
    PageTable table{kPage, {}};

    Table() { REQUIRE(table.reserve(device, 16 * kPage)); }

    PageRange at(Bytes first, Bytes count) const {
        return {0, {table.root(0).begin + first * kPage, count * kPage}};
    }

    // The states of the first pages: '.', 'l', 'm', 's'.
    std::string show(Bytes count) const {
        std::string text;
        for (Bytes i = 0; i < count; ++i)
            text += ".lms"[static_cast<std::size_t>(table.state(0, at(i, 1).range.begin))];
        return text;
    }

    void fail(DeviceCall call, std::uint64_t nth, bool and_all_after = false) {
        device.set_plan({nth, call, DeviceStatus::fault, and_all_after});
    }
};

TEST_CASE("a page table backs places with pages and gives them back", "[regions]") {
    Table t;
    REQUIRE(t.table.populate(t.device, t.at(2, 3)));
    CHECK(t.show(6) == "..mmm.");
    CHECK(t.table.held() == 3 * kPage);
    CHECK(t.sim.memory().free == 5 * kPage);

    REQUIRE(t.table.vacate(t.device, t.at(3, 1)));
    CHECK(t.show(6) == "..m.m.");
    REQUIRE(t.table.vacate(t.device, t.at(2, 1)));
    REQUIRE(t.table.vacate(t.device, t.at(4, 1)));
    CHECK(t.sim.memory().free == 8 * kPage);
    REQUIRE(t.table.unreserve(t.device, 0));
    CHECK(t.table.root(0).size == 0);
}

TEST_CASE("a page table maps pages at a second place and ends the first", "[regions]") {
    Table t;
    REQUIRE(t.table.populate(t.device, t.at(0, 2)));
    REQUIRE(t.table.populate(t.device, t.at(4, 2)));
    const std::vector<PageRange> sources{t.at(4, 1), t.at(0, 2)};
    REQUIRE(t.table.alias(t.device, t.at(8, 3), sources));
    CHECK(t.show(12) == "ss..sm..sss.");
    CHECK(t.table.held() == 4 * kPage);
    CHECK(t.table.mapped() == 4 * kPage);
    CHECK(t.table.any_shared(t.at(4, 2)));
    CHECK_FALSE(t.table.any_shared(t.at(5, 1)));

    REQUIRE(t.table.unalias(t.device, t.at(0, 2)));
    CHECK(t.show(12) == "....sm..smm.");
    CHECK(t.table.held() == 4 * kPage);
    REQUIRE(t.table.unalias(t.device, t.at(4, 1)));
    REQUIRE(t.table.vacate(t.device, t.at(8, 3)));
    CHECK(t.table.held() == kPage);
    CHECK(t.sim.memory().free == 7 * kPage);
}

TEST_CASE("a page table is as before when pages cannot be had", "[regions]") {
    Table t;
    REQUIRE(t.table.populate(t.device, t.at(0, 1)));
    const auto [call, nth] = GENERATE(table<DeviceCall, std::uint64_t>({
        {DeviceCall::create, 1},
        {DeviceCall::create, 3},
        {DeviceCall::map, 1},
        {DeviceCall::map, 3},
        {DeviceCall::set_access, 1},
    }));
    t.fail(call, nth);

    const DeviceResult<void> done = t.table.populate(t.device, t.at(1, 3));

    REQUIRE_FALSE(done);
    CHECK(done.error().call == call);
    CHECK(t.show(6) == "m.....");
    CHECK(t.table.held() == kPage);
    CHECK(t.table.mapped() == kPage);
    CHECK(t.sim.memory().free == 7 * kPage);
}

TEST_CASE("a page table is as before when pages cannot be mapped twice", "[regions]") {
    Table t;
    REQUIRE(t.table.populate(t.device, t.at(0, 3)));
    const auto [call, nth] = GENERATE(table<DeviceCall, std::uint64_t>(
        {{DeviceCall::map, 1}, {DeviceCall::map, 3}, {DeviceCall::set_access, 1}}));
    t.fail(call, nth);
    const std::vector<PageRange> sources{t.at(0, 3)};

    CHECK_FALSE(t.table.alias(t.device, t.at(4, 3), sources));

    CHECK(t.show(8) == "mmm.....");
    t.device.set_plan({});
    CHECK(t.table.alias(t.device, t.at(4, 3), sources));
}

TEST_CASE("a page table remembers pages that the device would not unmap again", "[regions]") {
    Table t;
    t.fail(DeviceCall::set_access, 1);
    t.device.set_plan({3, {}, DeviceStatus::fault, true});  // create, create, and no more
    CHECK_FALSE(t.table.populate(t.device, t.at(0, 2)));
    CHECK(t.show(3) == "ll.");
    CHECK(t.table.held() == 2 * kPage);
    CHECK(t.table.mapped() == 0);

    t.device.set_plan({6, {}, DeviceStatus::fault, true});  // ..., map, map, access
    t.device.set_plan({5, {}, DeviceStatus::fault, true});
    CHECK_FALSE(t.table.populate(t.device, t.at(4, 2)));
    CHECK(t.show(7) == "ll..mm.");
    CHECK(t.table.mapped() == 2 * kPage);

    t.device.set_plan({});
    CHECK(t.table.vacate(t.device, t.at(0, 2)));
    CHECK(t.table.vacate(t.device, t.at(4, 2)));
    CHECK(t.show(7) == ".......");
    CHECK(t.sim.memory().free == 8 * kPage);
}

TEST_CASE("a page table remembers a second place that the device would not end", "[regions]") {
    Table t;
    REQUIRE(t.table.populate(t.device, t.at(0, 3)));
    t.device.set_plan({3, {}, DeviceStatus::fault, true});  // map, map, and no more
    const std::vector<PageRange> sources{t.at(0, 3)};
    CHECK_FALSE(t.table.alias(t.device, t.at(4, 3), sources));
    CHECK(t.show(8) == "ssm.ss..");

    t.device.set_plan({});
    CHECK(t.table.unalias(t.device, t.at(4, 2)));
    CHECK(t.show(8) == "mmm.....");
}

TEST_CASE("a page table keeps pages that the device would not release", "[regions]") {
    Table t;
    REQUIRE(t.table.populate(t.device, t.at(0, 3)));
    t.fail(DeviceCall::release, 2);
    REQUIRE(t.table.vacate(t.device, t.at(0, 3)));
    CHECK(t.show(4) == ".l..");
    CHECK(t.table.held() == kPage);
    CHECK(t.table.mapped() == 0);

    t.fail(DeviceCall::unmap, 1);
    CHECK(t.table.vacate(t.device, t.at(1, 1)));  // it isn't mapped
    CHECK(t.table.held() == 0);
}

TEST_CASE("a page table changes nothing when a mapping cannot be ended", "[regions]") {
    Table t;
    REQUIRE(t.table.populate(t.device, t.at(0, 2)));
    t.fail(DeviceCall::unmap, 1, true);
    CHECK_FALSE(t.table.vacate(t.device, t.at(0, 2)));
    CHECK(t.show(3) == "mm.");
    const std::vector<PageRange> sources{t.at(0, 1)};
    REQUIRE(t.table.alias(t.device, t.at(4, 1), sources));
    CHECK_FALSE(t.table.unalias(t.device, t.at(0, 1)));
    CHECK(t.show(6) == "sm..s.");
}

}  // namespace
}  // namespace tidemark
