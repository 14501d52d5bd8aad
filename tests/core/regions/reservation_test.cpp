// Reservation: pages in and out, and nothing lost whichever call the device refuses.
#include "core/regions/reservation.h"

#include <optional>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/faulty.h"
#include "core/base/random.h"
#include "tests/core/regions/pages.h"

using namespace tidemark;
using support::kPage;

namespace {

constexpr Bytes kCapacity = 64_MiB;

struct Fixture {
    Fixture() { reservation = *Reservation::make(device, 128_MiB, kPage); }

    Range pages(std::uint64_t first, std::uint64_t count) const {
        return {reservation.range().begin + first * kPage, count * kPage};
    }

    // What the device has lent, by its own account.
    Bytes borrowed() const { return kCapacity - sim.memory().free; }

    void fail(std::optional<DeviceCall> call, std::uint64_t nth = 1, bool and_all_after = false) {
        device.set_plan({.nth = nth,
                         .call = call,
                         .status = DeviceStatus::fault,
                         .and_all_after = and_all_after});
    }

    void heal() { device.set_plan({}); }

    SimDevice sim{{.capacity = kCapacity}};
    FaultyDevice device{sim, {}};
    Reservation reservation;
};

// Neither a page that can be mapped again nor one that holds memory was lost.
void check_all_usable(Fixture& at) {
    at.heal();
    at.reservation.settle(at.device);
    CHECK(at.reservation.refused() == 0);
    CHECK(at.reservation.held() == 0);
    CHECK(at.borrowed() == 0);
    REQUIRE(at.reservation.map(at.device, at.pages(0, kCapacity / kPage)));
    CHECK(at.borrowed() == kCapacity);
    REQUIRE(at.reservation.unmap(at.device, at.pages(0, kCapacity / kPage)));
    CHECK(at.borrowed() == 0);
    CHECK(at.reservation.release(at.device));
}

}  // namespace

TEST_CASE("a reservation holds what is mapped, and any run of pages can go", "[regions]") {
    Fixture at;
    CHECK(at.borrowed() == 0);

    REQUIRE(at.reservation.map(at.device, at.pages(2, 5)));
    CHECK(at.reservation.held() == 5 * kPage);
    CHECK(at.borrowed() == 5 * kPage);
    CHECK(at.sim.counters().calls[static_cast<std::size_t>(DeviceCall::create)] == 5);

    REQUIRE(at.reservation.unmap(at.device, at.pages(3, 2)));
    CHECK(at.borrowed() == 3 * kPage);
    REQUIRE(at.reservation.map(at.device, at.pages(3, 1)));
    CHECK(at.reservation.held() == 4 * kPage);
    CHECK(at.borrowed() == 4 * kPage);
}

TEST_CASE("the addresses of a reservation go back only when no page is mapped", "[regions]") {
    Fixture at;
    REQUIRE(at.reservation.map(at.device, at.pages(0, 1)));
    CHECK_FALSE(at.reservation.release(at.device));
    CHECK(at.borrowed() == kPage);

    REQUIRE(at.reservation.unmap(at.device, at.pages(0, 1)));
    REQUIRE(at.reservation.release(at.device));

    CHECK_FALSE(at.sim.unreserve(at.reservation.range()));  // they are gone
}

TEST_CASE("a reservation that the device refuses is an error", "[regions]") {
    SimDevice sim({.capacity = kCapacity});
    FaultyDevice device(sim, {.nth = 1, .status = DeviceStatus::address_space});

    const auto made = Reservation::make(device, 8_MiB, kPage);

    REQUIRE_FALSE(made);
    CHECK(made.error().status == DeviceStatus::address_space);
}

TEST_CASE("memory that runs out in the middle of a map is given back", "[regions]") {
    Fixture at;
    REQUIRE(at.reservation.map(at.device, at.pages(0, 10)));

    const DeviceResult<void> done = at.reservation.map(at.device, at.pages(10, 7));

    REQUIRE_FALSE(done);
    CHECK(done.error().status == DeviceStatus::out_of_memory);
    CHECK(at.reservation.held() == 10 * kPage);
    CHECK(at.borrowed() == 10 * kPage);
    CHECK(at.reservation.map(at.device, at.pages(10, 6)));
}

TEST_CASE("a map undoes itself whichever of its calls fails", "[regions]") {
    std::uint64_t nth = 0;
    std::uint64_t failures = 0;
    do {
        Fixture at;
        REQUIRE(at.reservation.map(at.device, at.pages(7, 1)));
        at.fail(std::nullopt, ++nth);

        const bool done = at.reservation.map(at.device, at.pages(1, 3)).has_value();
        failures = at.device.failures();

        INFO("call " << nth);
        CHECK(done == (failures == 0));
        CHECK(at.reservation.held() == (done ? 4 : 1) * kPage);
        CHECK(at.borrowed() == at.reservation.held());
        CHECK(at.reservation.refused() == 0);
        at.heal();
        CHECK(at.reservation.map(at.device, at.pages(1, 3)).has_value() != done);
    } while (failures != 0);
    CHECK(nth == 8);  // 3 creates, 3 maps, 1 set_access; the 8th did not happen
}

TEST_CASE("nothing changes when the device refuses to unmap", "[regions]") {
    Fixture at;
    REQUIRE(at.reservation.map(at.device, at.pages(0, 3)));
    at.fail(DeviceCall::unmap);

    CHECK_FALSE(at.reservation.unmap(at.device, at.pages(0, 3)));

    CHECK(at.reservation.held() == 3 * kPage);
    CHECK(at.reservation.refused() == 0);
    CHECK(at.borrowed() == 3 * kPage);
    REQUIRE(at.reservation.unmap(at.device, at.pages(0, 3)));
    CHECK(at.borrowed() == 0);
}

TEST_CASE("pages that the device refuses to take back are used by the next map", "[regions]") {
    Fixture at;
    REQUIRE(at.reservation.map(at.device, at.pages(0, 3)));
    at.fail(DeviceCall::release, 2);
    REQUIRE(at.reservation.unmap(at.device, at.pages(0, 3)));

    CHECK(at.reservation.refused() == kPage);
    CHECK(at.reservation.held() == kPage);
    CHECK(at.borrowed() == kPage);

    const auto creates = [&] {
        return at.sim.counters().calls[static_cast<std::size_t>(DeviceCall::create)];
    };
    const std::uint64_t before = creates();
    REQUIRE(at.reservation.map(at.device, at.pages(5, 2)));
    CHECK(creates() == before + 1);
    CHECK(at.reservation.refused() == 0);
    CHECK(at.reservation.held() == 2 * kPage);
    CHECK(at.borrowed() == 2 * kPage);
}

TEST_CASE("a reservation with refused pages is settled, then given back", "[regions]") {
    Fixture at;
    REQUIRE(at.reservation.map(at.device, at.pages(0, 3)));
    at.fail(DeviceCall::release, 1, true);
    REQUIRE(at.reservation.unmap(at.device, at.pages(0, 3)));
    CHECK(at.reservation.refused() == 3 * kPage);

    CHECK_FALSE(at.reservation.release(at.device));  // still refused
    CHECK(at.borrowed() == 3 * kPage);
    CHECK(at.reservation.held() == 3 * kPage);

    at.fail(DeviceCall::release, 2);
    at.reservation.settle(at.device);
    CHECK(at.reservation.refused() == kPage);
    CHECK(at.borrowed() == kPage);

    at.heal();
    CHECK(at.reservation.release(at.device));
    CHECK(at.borrowed() == 0);
    CHECK(at.reservation.held() == 0);
}

TEST_CASE("pages stuck where a failed map left them are counted and come back", "[regions]") {
    Fixture at;
    at.fail(DeviceCall::unmap);
    FaultyDevice broken(at.device, {.nth = 3, .call = DeviceCall::map});

    REQUIRE_FALSE(at.reservation.map(broken, at.pages(0, 4)));  // two pages are mapped by then

    CHECK(at.reservation.held() == 2 * kPage);
    CHECK(at.reservation.refused() == 2 * kPage);
    CHECK(at.borrowed() == 2 * kPage);
    at.heal();
    CHECK(at.reservation.map(at.device, at.pages(2, 2)));  // the others can be used
    CHECK(at.reservation.held() == 4 * kPage);
    at.reservation.settle(at.device);
    CHECK(at.reservation.refused() == 0);
    CHECK(at.borrowed() == 2 * kPage);
    REQUIRE(at.reservation.unmap(at.device, at.pages(2, 2)));
    check_all_usable(at);
}

TEST_CASE("a reservation that cannot be given back stands and can be used", "[regions]") {
    Fixture at;
    at.fail(DeviceCall::unreserve);

    CHECK_FALSE(at.reservation.release(at.device));

    CHECK(at.reservation.map(at.device, at.pages(0, 1)));
    REQUIRE(at.reservation.unmap(at.device, at.pages(0, 1)));
    check_all_usable(at);
}

TEST_CASE("what is held is what the device has borrowed, whatever fails", "[regions]") {
    Random random(GENERATE(1U, 2U, 3U));
    Fixture at;
    constexpr std::uint64_t kPages = 12;
    bool mapped[kPages] = {};
    for (int step = 0; step < 2'000; ++step) {
        at.fail(std::nullopt, random.below(3) == 0 ? 1 + random.below(8) : 0, random.below(2) == 0);
        const std::uint64_t first = random.below(kPages);
        std::uint64_t count = 1;
        while (first + count < kPages && mapped[first + count] == mapped[first] &&
               random.below(3) != 0)
            ++count;
        const Range run = at.pages(first, count);
        const bool done = (mapped[first] ? at.reservation.unmap(at.device, run)
                                         : at.reservation.map(at.device, run))
                              .has_value();
        for (std::uint64_t page = first; page < first + count && done; ++page)
            mapped[page] = !mapped[page];
        if (random.below(8) == 0)
            at.reservation.settle(at.device);
        Bytes whole = 0;
        for (const bool is_mapped : mapped)
            whole += is_mapped ? kPage : 0;
        REQUIRE(at.reservation.held() == at.borrowed());
        REQUIRE(at.reservation.held() == whole + at.reservation.refused());
    }
    at.heal();
    for (std::uint64_t page = 0; page < kPages; ++page) {
        if (mapped[page])
            REQUIRE(at.reservation.unmap(at.device, at.pages(page, 1)));
    }
    check_all_usable(at);
}

TEST_CASE("pages around and inside a part of a reservation", "[regions]") {
    Fixture at;
    const Address base = at.reservation.range().begin;

    CHECK(at.reservation.covering({base + 1, 1}) == at.pages(0, 1));
    CHECK(at.reservation.covering({base + (kPage - 1), 2}) == at.pages(0, 2));
    CHECK(at.reservation.covering(at.pages(3, 2)) == at.pages(3, 2));
    CHECK(at.reservation.within({base + 1, 2 * kPage}) == at.pages(1, 1));
    CHECK(at.reservation.within({base + 1, 2 * kPage - 1}) == at.pages(1, 1));
    CHECK(at.reservation.within({base + 1, 2 * kPage - 2}).size == 0);
    CHECK(at.reservation.within(at.pages(3, 2)) == at.pages(3, 2));
    CHECK(at.reservation.within({base, kPage - 1}).size == 0);
}

TEST_CASE("pages are counted from the reservation's begin, not from zero", "[regions]") {
    const Address base{1_GiB + 2_MiB};
    const Reservation at = Reservation::adopt({base, 60_MiB}, 20_MiB, 0);

    CHECK(at.covering({base + 19_MiB, 2_MiB}) == Range{base, 40_MiB});
    CHECK(at.within({base + 1, 59_MiB}) == Range{base + 20_MiB, 20_MiB});
}

TEST_CASE("an adopted reservation gives pages of unknown handles back", "[regions]") {
    Fixture at;
    REQUIRE(at.reservation.map(at.device, at.pages(0, 3)));
    Reservation adopted = Reservation::adopt(at.reservation.range(), kPage, 3 * kPage);
    CHECK(adopted.held() == 3 * kPage);

    REQUIRE(adopted.unmap(at.device, at.pages(1, 1)));

    CHECK(adopted.held() == 2 * kPage);
    CHECK(at.sim.counters().calls[static_cast<std::size_t>(DeviceCall::release)] == 0);
    REQUIRE(adopted.map(at.device, at.pages(1, 1)));
    CHECK(adopted.held() == 3 * kPage);
}

TEST_CASE("a copy of a reservation goes on with a copy of its device", "[regions]") {
    Fixture at;
    REQUIRE(at.reservation.map(at.device, at.pages(0, 2)));
    const std::unique_ptr<SimDevice> twin = at.sim.clone();
    Reservation copy = at.reservation;

    REQUIRE(copy.unmap(*twin, at.pages(0, 2)));
    REQUIRE(copy.release(*twin));

    CHECK(twin->memory().free == kCapacity);
    CHECK(at.reservation.held() == 2 * kPage);
    CHECK(at.borrowed() == 2 * kPage);
    CHECK(at.reservation.unmap(at.device, at.pages(0, 2)));
}
