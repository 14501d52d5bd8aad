// Deferrable memory: handles, pins with limits, what is freed in each state, events.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/deferrable/launch.h"
#include "tests/support/tiered_fixture.h"

namespace tidemark {
namespace {

using namespace support;
using Kind = DeferrableEvent::Kind;

constexpr StreamId kStream{3};
constexpr StreamId kOtherStream{4};

StoreOptions listening(const std::shared_ptr<DeferrableMoves>& moves) {
    StoreOptions options;
    options.on_moves = DeferrableStore::listen(moves);
    return options;
}

struct MemoryFixture {
    explicit MemoryFixture(const TieredSizes& sizes = {}, DeferrableOptions options = {})
        : tiers(sizes, listening(moves)),
          memory(
              *tiers.store, tiers.space(kGpu),
              [this](Bytes size) -> Result<std::shared_ptr<const AddressRange>> {
                  return tiers.transfers.reserve(size);
              },
              moves, options) {
        tiers.transfers.set_automatic(true);
    }

    Deferrable filled(Bytes size, std::uint64_t seed) {
        Deferrable made = *memory.create(size, seed);
        const DeferrablePin pin = *memory.pin(made);
        fill_content(bytes(pin), seed);
        return made;
    }

    static std::span<std::byte> bytes(const DeferrablePin& pin) {
        return {reinterpret_cast<std::byte*>(to_integer(pin.address())), pin.buffer().size()};
    }

    bool holds(const Deferrable& one, std::uint64_t seed) {
        const Result<DeferrablePin> pin = memory.pin(one, false);
        return pin && has_content(bytes(*pin), seed);
    }

    FreeReport away(const Deferrable& one) { return tiers.store->wait(memory.defer(one)); }

    std::vector<Kind> kinds() {
        std::vector<Kind> all;
        for (const DeferrableEvent& event : memory.events().take(0))
            all.push_back(event.kind);
        return all;
    }

    std::shared_ptr<DeferrableMoves> moves = std::make_shared<DeferrableMoves>();
    TieredFixture tiers;
    DeferrableStore memory;
};

TEST_CASE("a buffer is at one address with its bytes, whatever happens between", "[deferrable]") {
    MemoryFixture f;
    const Deferrable one = f.filled(300, 7);
    const Address address = f.memory.info(one).address;
    for (int i = 0; i < 3; ++i) {
        CHECK(f.memory.try_defer(one) == DeferAnswer::deferred);
        CHECK(f.memory.info(one).state == DeferrableState::deferred);
        CHECK(f.memory.try_defer(one) == DeferAnswer::away);
        CHECK(f.holds(one, 7));
        CHECK(f.memory.pin(one)->address() == address);
        CHECK(f.memory.info(one).state == DeferrableState::resident);
    }
    CHECK(f.memory.find(one.id()) == one);
    CHECK(f.memory.find(address + 299) == one);
    CHECK(!f.memory.find(address + 300));
    CHECK(!f.memory.find(one.id() + 1));
}

// D-T1. The memory of what is away is not mapped: reading it would end the test.
TEST_CASE("a million pins, while another thread defers", "[deferrable]") {
    MemoryFixture f;
    const Deferrable one = f.filled(300, 7);
    constexpr int kTurns = 500;
    constexpr int kPins = 2000;  // a turn
    std::atomic<int> invited = 0;
    std::atomic<int> begun = 0;
    std::atomic<int> ended = 0;
    int wrong = 0;
    std::thread user([&] {
        for (int turn = 1; turn <= kTurns; ++turn) {
            for (int i = 0; i < kPins; ++i) {
                const Result<DeferrablePin> pin = f.memory.pin(one, i % 3 == 0);
                const bool look = i % 100 == 0;
                wrong += pin && (!look || has_content(MemoryFixture::bytes(*pin), 7)) ? 0 : 1;
                wrong += look && f.memory.info(one).state != DeferrableState::pinned ? 1 : 0;
            }
            invited = turn;
            while (begun < turn || (turn % 2 == 0 && ended < turn))
                std::this_thread::yield();
        }
    });
    int deferred = 0;
    for (int turn = 1; turn <= kTurns; ++turn) {
        while (invited < turn)
            std::this_thread::yield();
        begun = turn;
        deferred += f.memory.try_defer(one) == DeferAnswer::deferred ? 1 : 0;
        ended = turn;
    }
    user.join();
    CHECK(wrong == 0);
    CHECK(deferred >= kTurns / 2);
    CHECK(f.memory.info(one).pins == 0);
    CHECK(f.memory.info(one).uses >= std::uint64_t{kTurns} * kPins);
}

// D-T2, D-T3.
TEST_CASE("what streams still use is not deferred at once", "[deferrable]") {
    MemoryFixture f;
    f.tiers.transfers.set_automatic(false);
    const Deferrable one = *f.memory.create(300, 0);
    DeferrablePin first = *f.memory.pin(one);
    DeferrablePin second = *f.memory.pin(one);
    first.release(kStream);
    CHECK(f.memory.try_defer(one) == DeferAnswer::busy);
    second.release(kOtherStream);
    CHECK(f.memory.try_defer(one) == DeferAnswer::busy);
    f.tiers.transfers.pass_one();
    CHECK(f.memory.try_defer(one) == DeferAnswer::busy);
    f.tiers.transfers.pass_all();
    f.tiers.transfers.set_automatic(true);
    CHECK(f.memory.try_defer(one) == DeferAnswer::deferred);
}

// D-T9.
TEST_CASE("a stream's name may be used again", "[deferrable]") {
    MemoryFixture f;
    f.tiers.transfers.set_automatic(false);
    const Deferrable one = *f.memory.create(300, 0);
    f.memory.pin(one)->release(kStream);
    f.memory.stream_ended(kStream);
    CHECK(f.tiers.transfers.points() == 1);
    CHECK(f.memory.try_defer(one) == DeferAnswer::busy);
    f.tiers.transfers.pass_all();
    (void)f.memory.defer(one);
    CHECK(f.tiers.transfers.points() == 0);  // nothing is asked of another stream of that name
    f.tiers.transfers.set_automatic(true);
}

// D-T4.
TEST_CASE("what ends a stream's work takes no pin and no work that came meanwhile",
          "[deferrable]") {
    MemoryFixture f;
    f.tiers.transfers.set_automatic(false);
    const Deferrable one = *f.memory.create(300, 0);
    constexpr int kLaunches = 300;
    std::atomic<bool> launched = false;
    std::thread ending([&] {
        while (!launched) {
            f.memory.stream_ended(kStream);
            f.tiers.transfers.pass_all();
        }
    });
    DeferrablePin held = *f.memory.pin(one);
    for (int i = 0; i < kLaunches; ++i)
        f.memory.pin(one)->release(kStream);
    launched = true;
    ending.join();
    CHECK(f.memory.info(one).pins == 1);
    CHECK(f.memory.try_defer(one) == DeferAnswer::busy);
    f.memory.stream_ended(kStream);
    f.tiers.transfers.pass_all();
    held.release(kStream);
    CHECK(f.memory.try_defer(one) == DeferAnswer::busy);  // of this launch nobody has said it ended
    f.tiers.transfers.pass_all();
    f.tiers.transfers.set_automatic(true);
    CHECK(f.memory.try_defer(one) == DeferAnswer::deferred);
}

// D-T5.
TEST_CASE("pairs in opposite orders both finish; what can't fit is listed", "[deferrable]") {
    MemoryFixture f({.gpu = 700});
    const Deferrable a = f.filled(300, 1);
    const Deferrable b = f.filled(300, 2);
    const Deferrable c = f.filled(300, 3);
    REQUIRE(f.tiers.store->start_worker());
    std::atomic<int> failed = 0;
    const auto use = [&](const Deferrable& first, const Deferrable& second) {
        for (int i = 0; i < 200; ++i) {
            const DeferrableUse uses[] = {{&first, true}, {&second, false}, {&first, false}};
            failed += f.memory.pin_all(uses) ? 0 : 1;
        }
    };
    std::thread one([&] { use(a, b); });
    std::thread two([&] { use(b, a); });
    std::thread three([&] { use(c, a); });
    one.join();
    two.join();
    three.join();
    CHECK(failed == 0);
    const DeferrableUse all[] = {{&a}, {&b}, {&c}};
    const auto refused = f.memory.pin_all(all);
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::no_space);
    CHECK(to_text(refused.error()).find(std::to_string(b.id()) + ": 300") != std::string::npos);
    CHECK(f.holds(a, 1));
    CHECK(f.holds(b, 2));
    CHECK(f.holds(c, 3));
    f.tiers.store->check();
}

TEST_CASE("waiting for room has an end, and nothing is kept by it", "[deferrable]") {
    MemoryFixture f({.gpu = 700});
    const Deferrable a = f.filled(300, 1);
    const Deferrable b = f.filled(300, 2);
    const Deferrable c = f.filled(300, 3);
    const DeferrablePin pinned = *f.memory.pin(a);
    const DeferrablePin both = *f.memory.pin(b);
    constexpr Nanoseconds kPatience = 2'000'000;
    const DeferrableUse one[] = {{&c}};
    CHECK(f.memory.pin_all(one, kPatience).error().code == ErrorCode::cancelled);
    const DeferrableUse uses[] = {{&a}, {&c}};
    CHECK(f.memory.pin_all(uses, kPatience).error().code == ErrorCode::cancelled);
    CHECK(f.memory.info(a).pins == 1);
}

// D-T6.
TEST_CASE("where the third of a group finds no room the first two are let go", "[deferrable]") {
    MemoryFixture f({.gpu = 700});
    const Deferrable a = f.filled(200, 1);
    const Deferrable b = f.filled(200, 2);
    const Deferrable c = f.filled(200, 3);
    const Deferrable other = f.filled(200, 4);
    const DeferrablePin pinned = *f.memory.pin(other);
    const DeferrableUse uses[] = {{&a}, {&b}, {&c}};
    CHECK(f.memory.pin_all(uses, 2'000'000).error().code == ErrorCode::cancelled);
    for (const Deferrable* one : {&a, &b, &c})
        CHECK(f.memory.info(*one).pins == 0);
    CHECK(f.memory.try_defer(a) != DeferAnswer::busy);
    const DeferrableUse two[] = {{&b}, {&c}};
    CHECK(f.memory.pin_all(two));
}

// D-T6.
TEST_CASE("a launch pins what is deferrable among its arguments", "[deferrable]") {
    MemoryFixture f;
    const Deferrable one = f.filled(100, 1);
    const std::vector<Deferrable> two = {f.filled(100, 2), f.filled(100, 3)};
    const auto shared = std::make_shared<Deferrable>(f.filled(100, 4));
    (void)f.away(one);
    auto only = std::make_unique<int>(5);
    const auto sum = launch(
        f.memory, kStream,
        [&](const Deferrable& first, const std::vector<Deferrable>& others, const auto& last,
            std::unique_ptr<int> number) {
            CHECK(f.memory.info(first).pins == 1);
            CHECK(f.memory.info(others[1]).pins == 1);
            CHECK(f.memory.info(*last).pins == 1);
            return *number + 1;
        },
        one, two, shared, std::move(only));
    CHECK(sum == 6);
    f.tiers.transfers.set_automatic(false);
    const auto throwing = [&](const Deferrable&) { throw std::runtime_error("no"); };
    CHECK_THROWS_AS((void)launch(f.memory, kStream, throwing, one), std::runtime_error);
    CHECK(f.memory.info(one).pins == 0);
    CHECK(f.memory.try_defer(one) == DeferAnswer::busy);  // what it queued is not done
    f.tiers.transfers.set_automatic(true);
}

TEST_CASE("a retrieval that fails unpins the others, and loses nothing", "[deferrable]") {
    MemoryFixture f;
    const Deferrable a = f.filled(200, 1);
    const Deferrable b = f.filled(200, 2);
    (void)f.away(b);
    f.tiers.transfers.fail_next_copy();
    const DeferrableUse uses[] = {{&a}, {&b}};
    CHECK(f.memory.pin_all(uses).error().code == ErrorCode::io);
    CHECK(f.memory.info(a).pins == 0);
    CHECK(f.holds(b, 2));
    CHECK(f.memory.statistics().failures == 1);
}

TEST_CASE("a pin that waits for room tries again where a copy out failed", "[deferrable]") {
    MemoryFixture f({.gpu = 700});
    const Deferrable a = f.filled(400, 1);
    const Deferrable b = f.filled(400, 2);
    CHECK(f.memory.info(a).state == DeferrableState::deferred);
    f.tiers.transfers.fail_next_copy();
    CHECK(f.holds(a, 1));
    CHECK(f.memory.statistics().failures == 1);
    f.tiers.transfers.fail_next_copy(100);
    CHECK(f.memory.pin(b).error().code == ErrorCode::io);
    f.tiers.transfers.fail_next_copy(0);
    CHECK(f.holds(b, 2));
    CHECK(f.holds(a, 1));
    f.tiers.store->check();
}

TEST_CASE("who defers what is leaving waits for the same copy", "[deferrable]") {
    MemoryFixture f;
    f.tiers.transfers.set_automatic(false);
    const Deferrable one = *f.memory.create(300, 0);
    (void)f.memory.defer(one);
    CHECK(f.memory.info(one).state == DeferrableState::deferring);
    std::thread other([&] { CHECK(f.memory.try_defer(one) == DeferAnswer::deferred); });
    f.tiers.transfers.set_automatic(true);
    other.join();
    CHECK(f.memory.statistics().deferrals == 1);
}

TEST_CASE("a new buffer waits for the room of what is leaving", "[deferrable]") {
    MemoryFixture f({.gpu = 700});
    const Deferrable kept = *f.memory.create(300, 0);
    const DeferrablePin pin = *f.memory.pin(kept);
    const Deferrable one = f.filled(300, 1);
    f.tiers.transfers.set_automatic(false);
    auto away = f.memory.defer(one);
    CHECK(f.memory.info(one).state == DeferrableState::deferring);
    bool made = false;
    std::thread other([&] { made = f.memory.create(300, 2).has_value(); });
    f.tiers.transfers.set_automatic(true);
    other.join();
    CHECK(made);
    CHECK(away.ready());
    const DeferrablePin again = *f.memory.pin(one);
    CHECK(f.memory.create(300, 3).error().code == ErrorCode::no_space);
}

TEST_CASE("a patient creation waits until pins are let go", "[deferrable]") {
    MemoryFixture f({.gpu = 700});
    const Deferrable held = f.filled(600, 1);
    DeferrablePin pin = *f.memory.pin(held);
    CHECK(f.memory.create(300, 2).error().code == ErrorCode::no_space);
    std::atomic<bool> made = false;
    std::thread other([&] {
        const Result<Deferrable> second = f.memory.create(300, 2, true);
        made = second.has_value();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(made);
    pin.release();
    other.join();
    CHECK(made);
    CHECK(f.holds(held, 1));
}

TEST_CASE("a patient creation ends with its patience, and where nobody could let go",
          "[deferrable]") {
    MemoryFixture f({.gpu = 700}, {.patience = 5'000'000});
    const Deferrable held = f.filled(600, 1);
    const DeferrablePin pin = *f.memory.pin(held);
    const auto refused = f.memory.create(300, 2, true);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::cancelled);
    CHECK(refused.error().what == "no room within the given time");
    CHECK(f.memory.create(10'000, 2, true).error().code == ErrorCode::no_space);
}

TEST_CASE("a pin that waits goes on when a retrieval for nobody has ended", "[deferrable]") {
    MemoryFixture f({.gpu = 700});
    const Deferrable a = f.filled(400, 1);
    const Deferrable b = f.filled(400, 2);
    (void)f.away(b);
    f.tiers.transfers.set_automatic(false);
    const auto coming = f.memory.retrieve(a);
    std::thread waiter([&] { CHECK(f.holds(b, 2)); });
    while (f.memory.statistics().waited < 1)
        std::this_thread::yield();
    f.tiers.transfers.set_automatic(true);
    waiter.join();
    CHECK(coming.ready());
}

// D-T7.
TEST_CASE("a buffer is freed in any state, once", "[deferrable]") {
    MemoryFixture f;
    const auto nothing_left = [&] {
        f.tiers.store->drain();
        return f.tiers.store->buffers() == 0 && f.tiers.transfers.blocks() == 0;
    };
    const Deferrable resident = f.filled(300, 1);
    CHECK(f.memory.free(resident));
    CHECK(f.memory.free(resident).error().code == ErrorCode::not_found);
    CHECK(f.memory.pin(resident).error().code == ErrorCode::not_found);
    CHECK(nothing_left());
    const Deferrable pinned = f.filled(300, 1);
    DeferrablePin pin = *f.memory.pin(pinned);
    CHECK(f.memory.free(pinned));
    CHECK(has_content(MemoryFixture::bytes(pin), 1));
    CHECK(f.memory.pin(pinned).error().code == ErrorCode::not_found);
    pin.release();
    CHECK(nothing_left());
    const Deferrable deferred = f.filled(300, 1);
    (void)f.away(deferred);
    CHECK(f.memory.free(deferred));
    CHECK(nothing_left());
    f.tiers.transfers.set_automatic(false);
    const Deferrable deferring = f.filled(300, 1);
    auto pending = f.memory.defer(deferring);
    CHECK(f.memory.info(deferring).state == DeferrableState::deferring);
    CHECK(f.memory.free(deferring));
    f.tiers.calm();
    CHECK(pending.ready());
    CHECK(nothing_left());
    Deferrable retrieving = f.filled(300, 1);
    f.tiers.transfers.set_automatic(true);
    (void)f.away(retrieving);
    f.tiers.transfers.set_automatic(false);
    auto coming = f.memory.retrieve(retrieving);
    CHECK(f.memory.info(retrieving).state == DeferrableState::retrieving);
    CHECK(f.memory.free(retrieving));
    f.tiers.calm();
    CHECK(coming.take().error().code == ErrorCode::not_found);
    CHECK(nothing_left());
    Deferrable dropped = f.filled(300, 1);
    const std::uint64_t id = dropped.id();
    dropped = {};
    CHECK(!f.memory.find(id));
    CHECK(nothing_left());
}

// D-T7.
TEST_CASE("who waits for a buffer that is freed is refused", "[deferrable]") {
    MemoryFixture f({.gpu = 700});
    const Deferrable wanted = f.filled(400, 1);
    const Deferrable held = f.filled(400, 2);
    const DeferrablePin pin = *f.memory.pin(held);
    ErrorCode refusal = ErrorCode::cancelled;
    std::thread waiter([&] { refusal = f.memory.pin(wanted).error().code; });
    while (f.memory.statistics().waited < 1)
        std::this_thread::yield();
    CHECK(f.memory.free(wanted));
    waiter.join();
    CHECK(refusal == ErrorCode::not_found);
    CHECK(f.memory.info(held).pins == 1);
    f.tiers.store->check();
}

// D-T8.
TEST_CASE("a reader may go while a buffer is coming back", "[deferrable]") {
    MemoryFixture f;
    const Deferrable one = f.filled(300, 1);
    (void)f.away(one);
    REQUIRE(f.memory.subscribe());
    f.tiers.transfers.set_automatic(false);
    const auto coming = f.memory.retrieve(one);
    CHECK(f.kinds() == std::vector{Kind::registered, Kind::retrieving});
    f.memory.events().unsubscribe();
    f.tiers.transfers.set_automatic(true);
    CHECK(f.holds(one, 1));
    CHECK(coming.ready());
    CHECK(f.kinds().empty());
}

// D-T8, as far as events are fetched.
TEST_CASE("a reader of events has what there is and what happens", "[deferrable]") {
    MemoryFixture f;
    const Deferrable one = f.filled(300, 1);
    CHECK(f.kinds().empty());
    REQUIRE(f.memory.subscribe());
    CHECK(!f.memory.subscribe());
    CHECK(f.kinds() == std::vector{Kind::registered});
    (void)f.away(one);
    CHECK(f.kinds() == std::vector{Kind::deferring, Kind::deferred});
    CHECK(f.holds(one, 1));
    CHECK(f.kinds() == std::vector{Kind::retrieving, Kind::retrieved});
    CHECK(f.memory.free(one));
    CHECK(f.kinds() == std::vector{Kind::freed});
    std::thread later([&] { f.memory.events().unsubscribe(); });
    CHECK(f.memory.events().take(60'000'000'000).empty());
    later.join();
    const Deferrable other = f.filled(300, 2);
    CHECK(f.kinds().empty());
}

TEST_CASE("events that nobody fetches are dropped and counted", "[deferrable]") {
    DeferrableEvents events;
    REQUIRE(events.subscribe({}));
    for (std::size_t i = 0; i < DeferrableEvents::kMost + 3; ++i)
        events.push({});
    CHECK(events.lost() == 3);
    CHECK(events.take(0).size() == DeferrableEvents::kMost);
}

TEST_CASE("a reader that comes for more is done with what it had", "[deferrable]") {
    DeferrableEvents events;
    CHECK(events.push({}) == 0);
    CHECK(!events.responsive());
    CHECK(events.subscribe({}));
    CHECK(events.responsive());
    const std::uint64_t first = events.push({});
    const std::uint64_t second = events.push({});
    CHECK(!events.handled(first));
    std::thread([&] { CHECK(events.take(0, 1).size() == 1); }).join();
    CHECK(!events.handled(first));
    events.give_up(second);
    CHECK(!events.responsive());
    std::thread([&] {
        CHECK(events.take(0, 1).size() == 1);
        CHECK(events.handled(first));
        CHECK(!events.handled(second));
        CHECK(events.take(0).empty());
        CHECK(!events.responsive());  // nobody waits for itself
    }).join();
    CHECK(events.handled(second));
    CHECK(events.responsive());
    events.push({});
    events.unsubscribe();
    CHECK(events.handled(second + 1));
}

TEST_CASE("a reader that answers nothing is waited for once", "[deferrable]") {
    MemoryFixture f({.gpu = 700}, {.controller_patience = 1'000'000});
    std::vector<Deferrable> all;
    REQUIRE(f.memory.subscribe());
    for (std::uint64_t i = 0; i < 4; ++i)
        all.push_back(f.filled(300, i));
    CHECK(f.memory.statistics().pressures == 1);
    CHECK(f.memory.statistics().unrelieved == 1);
    for (std::uint64_t i = 0; i < 4; ++i)
        CHECK(f.holds(all[i], i));
    CHECK(f.memory.statistics().pressures == 1);
    CHECK(f.memory.statistics().deferrals >= 4);
}

TEST_CASE("a controller makes room, and a slow one is not waited for", "[deferrable]") {
    MemoryFixture f({.gpu = 700}, {.controller_patience = 1'000'000'000});
    const Deferrable keep = f.filled(300, 1);
    const Deferrable give = f.filled(300, 2);
    const Deferrable away = f.filled(300, 3);
    REQUIRE(f.tiers.store->start_worker());
    (void)f.away(away);
    CHECK(f.holds(keep, 1));
    CHECK(f.holds(give, 2));
    REQUIRE(f.memory.subscribe());
    std::thread controller([&] {
        for (bool made_room = false; !made_room;)
            for (const DeferrableEvent& event : f.memory.events().take(1'000'000'000))
                if (event.kind == Kind::pressure) {
                    made_room = true;
                    CHECK(event.size == 200);
                    (void)f.memory.try_defer(keep);
                }
    });
    CHECK(f.holds(away, 3));
    controller.join();
    CHECK(f.memory.info(keep).state == DeferrableState::deferred);
    CHECK(f.memory.info(give).state == DeferrableState::resident);
    CHECK(f.memory.statistics().pressures == 1);
    CHECK(f.memory.statistics().unrelieved == 0);
}

TEST_CASE("closing wakes who waits", "[deferrable]") {
    MemoryFixture f({.gpu = 700});
    const Deferrable a = f.filled(400, 1);
    const Deferrable b = f.filled(400, 2);
    const DeferrablePin pinned = *f.memory.pin(b);
    REQUIRE(f.tiers.store->start_worker());
    std::thread waiter([&] { CHECK(f.memory.pin(a).error().code == ErrorCode::cancelled); });
    while (f.memory.statistics().waited < 1)
        std::this_thread::yield();
    f.memory.close();
    waiter.join();
}

}  // namespace
}  // namespace tidemark
