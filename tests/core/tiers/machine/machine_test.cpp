// Machines: what a threshold is to the byte, what a copy takes, and what makes no sense.
#include "core/tiers/machine/machine.h"

#include <cmath>
#include <functional>
#include <limits>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "core/tiers/spaces/space_account.h"
#include "tests/support/spaces.h"

using namespace tidemark;
using namespace tidemark::literals;
using support::kDisk;
using support::kGpu;
using support::kHost;

namespace {

MachineSpec small_machine() {
    MachineSpec machine;
    machine.name = "small";
    machine.spaces = {{.id = kGpu, .capacity = 8_GiB},
                      {.id = kHost, .capacity = 32_GiB},
                      {.id = kDisk, .capacity = 100_GiB, .directories = {"/a", "/b"}}};
    machine.links = {{.source = kGpu, .target = kHost, .bytes_per_second = 25e9, .bus = "pcie"},
                     {.source = kHost, .target = kGpu, .bytes_per_second = 25e9, .bus = "pcie"}};
    machine.buses = {{.name = "pcie", .bytes_per_second = 25e9}};
    return machine;
}

// Where a fault is found after `change`; empty if none is.
std::string fault_after(const std::function<void(MachineSpec&)>& change) {
    MachineSpec machine = small_machine();
    change(machine);
    const Result<void> valid = machine.validate();
    if (valid)
        return {};
    CHECK(valid.error().code == ErrorCode::bad_input);
    CHECK_FALSE(valid.error().what.empty());
    return valid.error().where;
}

}  // namespace

TEST_CASE("A threshold of 85 % is 85 % of the capacity in use, whatever the limit is",
          "[tiers][machine]") {
    // In cuCascade the trigger moves with the limit: with these figures it fires at 100 % (A1.2).
    SpaceSpec space{.id = kGpu,
                    .capacity = 1000,
                    .reservation_limit = 0.85,
                    .spill_start = 0.85,
                    .spill_stop = 0.65};

    for (const double limit : {0.5, 0.85, 1.0}) {
        space.reservation_limit = limit;
        CHECK(space.thresholds().spill_start == 850);
        CHECK(space.thresholds().spill_stop == 650);
    }
}

TEST_CASE("Used bytes are allocated and reserved ones, and the limit is met to the byte",
          "[tiers][machine]") {
    const SpaceSpec space{.id = kGpu, .capacity = 1000, .reservation_limit = 0.85};
    SpaceAccount account(space.capacity, space.thresholds().limit);

    REQUIRE(account.try_allocate(500));
    CHECK(account.reservable() == 350);
    CHECK_FALSE(account.try_reserve(351));
    CHECK(account.try_reserve(350));
    CHECK(account.used() == 850);
    CHECK_FALSE(account.try_reserve(1));
}

TEST_CASE("A fraction is the decimal that was written, and parts of a byte are dropped",
          "[tiers][machine]") {
    CHECK(bytes_of_fraction(0.29, 100) == 29);  // 28.999... in binary
    CHECK(bytes_of_fraction(0.57, 100) == 57);
    CHECK(bytes_of_fraction(0.85, 101) == 85);
    CHECK(bytes_of_fraction(0.999999, 100) == 99);
    CHECK(bytes_of_fraction(0.9, 150'109'880'320) == 135'098'892'288);
    CHECK(bytes_of_fraction(0.1, kLargestSpace) == kLargestSpace / 10);
    CHECK(bytes_of_fraction(1e-5, 1'000'000) == 10);
    CHECK(bytes_of_fraction(5e-324, kLargestSpace) == 0);
    CHECK(bytes_of_fraction(1, 12345) == 12345);
    CHECK(bytes_of_fraction(0, 12345) == 0);
    CHECK(bytes_of_fraction(-1, 12345) == 0);
    CHECK(bytes_of_fraction(std::nan(""), 12345) == 0);
    CHECK(bytes_of_fraction(0.5, ~Bytes{0}) == (Bytes{1} << 63) - 1);
    CHECK(bytes_of_fraction(0.12345678901234568, ~Bytes{0}) == 2'277'375'791'072'698'160);
}

TEST_CASE("Hundredths of any capacity are what whole numbers give", "[tiers][machine]") {
    CHECK(rc::check([] {
        const auto capacity = *rc::gen::inRange<Bytes>(1, kLargestSpace + 1);
        const auto percent = *rc::gen::inRange<Bytes>(1, 101);

        const Bytes expected = capacity / 100 * percent + capacity % 100 * percent / 100;

        RC_ASSERT(bytes_of_fraction(static_cast<double>(percent) / 100, capacity) == expected);
    }));
}

TEST_CASE("Any number of bytes has a fraction that is it to the byte", "[tiers][machine]") {
    CHECK(fraction_of_bytes(6_GiB, 8_GiB) == 0.75);
    CHECK(fraction_of_bytes(29, 100) == 0.29);
    CHECK(fraction_of_bytes(7, 7) == 1);
    CHECK(rc::check([] {
        const auto capacity = *rc::gen::inRange<Bytes>(1, kLargestSpace + 1);
        const auto part = *rc::gen::inRange<Bytes>(1, capacity + 1);

        RC_ASSERT(bytes_of_fraction(fraction_of_bytes(part, capacity), capacity) == part);
    }));
}

TEST_CASE("Spaces are written as tier and number, and read again", "[tiers][machine]") {
    for (const char* text : {"gpu:0", "host:1", "disk:12", "gpu:2147483647"})
        CHECK(to_text(parse_space_id(text).value()) == text);
    for (const char* text : {"", "gpu", "gpu:", "gpu:x", "gpu:1x", "gpu:-1", "gpu:2147483648",
                             "cpu:0", "GPU:0", ":0", "gpu: 0", "gpu:0:0"}) {
        INFO(text);
        const Result<SpaceId> id = parse_space_id(text);
        REQUIRE_FALSE(id);
        CHECK(id.error().code == ErrorCode::bad_option);
    }
}

TEST_CASE("Spaces are in the order of their speed, then of their number", "[tiers][machine]") {
    CHECK(SpaceId{Tier::gpu, 9} < SpaceId{Tier::host, 0});
    CHECK(SpaceId{Tier::host, 0} < SpaceId{Tier::host, 1});
    CHECK(SpaceId{Tier::host, 7} < SpaceId{Tier::disk, 0});
}

TEST_CASE("A machine finds its spaces and links, and what it has not (A-T1)", "[tiers][machine]") {
    const MachineSpec machine = small_machine();

    REQUIRE(machine.space(kHost) != nullptr);
    CHECK(machine.space(kHost)->capacity == 32_GiB);
    CHECK(machine.space({Tier::gpu, 1}) == nullptr);
    CHECK(machine.space({Tier::host, 1}) == nullptr);
    REQUIRE(machine.link(kHost, kGpu) != nullptr);
    CHECK(machine.link(kHost, kGpu)->source == kHost);
    CHECK(machine.link(kGpu, kDisk) == nullptr);
}

TEST_CASE("A copy takes its link for the overhead and its bytes", "[tiers][machine]") {
    const LinkSpec link{.source = kGpu,
                        .target = kHost,
                        .bytes_per_second = 50e9,
                        .overhead = 700,
                        .latency = 9'000'000};

    CHECK(transfer_time(link, 0) == 700);
    CHECK(transfer_time(link, 50) == 701);
    CHECK(transfer_time(link, 74) == 701);
    CHECK(transfer_time(link, 75) == 702);  // rounded to whole nanoseconds
    CHECK(transfer_time(link, 50'000'000'000) == 1'000'000'700);
}

TEST_CASE("A copy that would take centuries has a time, too", "[tiers][machine]") {
    LinkSpec link{.source = kGpu, .target = kHost, .bytes_per_second = 1};

    CHECK(transfer_time(link, kLargestRequest) == Nanoseconds{1} << 62);
    link.bytes_per_second = 0;
    CHECK(transfer_time(link, 1) == Nanoseconds{1} << 62);
}

TEST_CASE("A machine that makes sense passes", "[tiers][machine]") {
    CHECK(small_machine().validate());
}

TEST_CASE("Every fault of a space is told with its field", "[tiers][machine]") {
    const auto space = [](std::size_t index, auto change) {
        return fault_after([=](MachineSpec& machine) { change(machine.spaces[index]); });
    };

    CHECK(fault_after([](MachineSpec& machine) { machine.spaces.clear(); }) == "/spaces");
    CHECK(space(0, [](SpaceSpec& s) { s.capacity = 0; }) == "/spaces/0/capacity");
    CHECK(space(1, [](SpaceSpec& s) { s.capacity = kLargestSpace + 1; }) == "/spaces/1/capacity");
    CHECK(space(0, [](SpaceSpec& s) { s.granularity = 0; }) == "/spaces/0/granularity");
    CHECK(space(0, [](SpaceSpec& s) { s.granularity = 768; }) == "/spaces/0/granularity");
    CHECK(space(0, [](SpaceSpec& s) { s.granularity = 16_GiB; }) == "/spaces/0/granularity");
    CHECK(space(2, [](SpaceSpec& s) { s.id.index = -1; }) == "/spaces/2/id");
    CHECK(space(1, [](SpaceSpec& s) { s.id = kGpu; }) == "/spaces/1/id");             // twice
    CHECK(space(0, [](SpaceSpec& s) { s.id = {Tier::host, 1}; }) == "/spaces/1/id");  // order
    CHECK(space(1, [](SpaceSpec& s) { s.block = 0; }) == "/spaces/1/block");
    CHECK(space(1, [](SpaceSpec& s) { s.block = 5000; }) == "/spaces/1/block");
    CHECK(space(1, [](SpaceSpec& s) { s.blocks_per_pool = 0; }) == "/spaces/1/blocks_per_pool");
    CHECK(space(2, [](SpaceSpec& s) { s.directories[1] = ""; }) == "/spaces/2/directories/1");
    CHECK(space(2, [](SpaceSpec& s) { s.directories[1] = "/a"; }) == "/spaces/2/directories/1");
}

TEST_CASE("Every fault of a threshold is told with its field", "[tiers][machine]") {
    const auto gpu = [](auto change) {
        return fault_after([=](MachineSpec& machine) { change(machine.spaces[0]); });
    };
    for (const double fraction : {0.0, -0.5, 1.0000001, 85.0, std::nan(""), 1e-30}) {
        INFO(fraction);
        CHECK(gpu([=](SpaceSpec& s) { s.reservation_limit = fraction; }) ==
              "/spaces/0/reservation_limit");
        CHECK(gpu([=](SpaceSpec& s) { s.spill_start = fraction; }) == "/spaces/0/spill_start");
        CHECK(gpu([=](SpaceSpec& s) { s.spill_stop = fraction; }) == "/spaces/0/spill_stop");
    }

    CHECK(gpu([](SpaceSpec& s) {
              s.spill_start = 0.65;
              s.spill_stop = 0.85;
          }) == "/spaces/0/spill_stop");
    CHECK(gpu([](SpaceSpec& s) { s.spill_start = s.spill_stop = 0.65; }).empty());
}

TEST_CASE("Every fault of a link or bus is told with its field", "[tiers][machine]") {
    const auto link = [](auto change) {
        return fault_after([=](MachineSpec& machine) { change(machine.links[1]); });
    };
    const auto bus = [](auto change) {
        return fault_after([=](MachineSpec& machine) {
            machine.buses.push_back({.name = "other", .bytes_per_second = 1});
            change(machine.buses[1]);
        });
    };
    constexpr double kInfinite = std::numeric_limits<double>::infinity();

    CHECK(link([](LinkSpec& l) { l.source = {Tier::host, 1}; }) == "/links/1/source");
    CHECK(link([](LinkSpec& l) { l.target = {Tier::gpu, 1}; }) == "/links/1/target");
    CHECK(link([](LinkSpec& l) { l.target = l.source; }) == "/links/1/target");
    CHECK(link([](LinkSpec& l) { std::swap(l.source, l.target); }) == "/links/1/target");  // twice
    for (const double bandwidth : {0.0, -1.0, 0.5, 2e18, kInfinite, std::nan("")}) {
        INFO(bandwidth);
        CHECK(link([=](LinkSpec& l) { l.bytes_per_second = bandwidth; }) ==
              "/links/1/bytes_per_second");
        CHECK(bus([=](BusSpec& b) { b.bytes_per_second = bandwidth; }) ==
              "/buses/1/bytes_per_second");
    }
    CHECK(link([](LinkSpec& l) { l.overhead = -1; }) == "/links/1/overhead");
    CHECK(link([](LinkSpec& l) { l.latency = -1; }) == "/links/1/latency");
    CHECK(link([](LinkSpec& l) { l.latency = Nanoseconds{1} << 62; }) == "/links/1/latency");
    CHECK(link([](LinkSpec& l) { l.bus = "usb"; }) == "/links/1/bus");
    CHECK(link([](LinkSpec& l) { l.bus = ""; }).empty());
    CHECK(bus([](BusSpec& b) { b.name = ""; }) == "/buses/1/name");
    CHECK(bus([](BusSpec& b) { b.name = "pcie"; }) == "/buses/1/name");
}
