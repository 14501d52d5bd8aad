// Deadlocks: found if there is one, not if there is none, told in words, and resolved.
#include "core/tiers/wait_graph.h"

#include <algorithm>
#include <memory>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "core/tiers/request.h"
#include "tests/core/tiers/small_machine.h"
#include "tests/support/spaces.h"

namespace {

using namespace tidemark;
using namespace std::chrono_literals;
using support::kGpu;
using support::kGpu1;

constexpr OwnerId kAnn{1};
constexpr OwnerId kBob{2};
constexpr OwnerId kEve{3};

using Positions = std::vector<std::size_t>;

Waiter wants(OwnerId owner, Bytes size, SpaceMask spaces, std::uint64_t arrival,
             WaitStanding standing = {}) {
    return {owner, {}, size, spaces, arrival, standing};
}

TEST_CASE("Two who wait for each other's memory are a deadlock, the later one its victim",
          "[tiers][deadlock]") {
    const WaitPicture picture{{100, 100},
                              {{0, 60, {kAnn}}, {1, 60, {kBob}}},
                              {wants(kAnn, 50, kSpaceB, 1), wants(kBob, 50, kSpaceA, 2)}};
    const WaitVerdict verdict = find_deadlock(picture);
    CHECK(verdict.stuck == Positions{0, 1});
    CHECK(verdict.victim == 1);
    CHECK(verdict.let_pass.empty());
}

TEST_CASE("One who could be served breaks the circle", "[tiers][deadlock]") {
    WaitPicture picture{{100, 100},
                        {{0, 60, {kAnn}}, {1, 60, {kBob}}},
                        {wants(kAnn, 50, kSpaceB, 1), wants(kBob, 50, kSpaceA, 2)}};
    SECTION("by another space") {
        picture.waiters[1].spaces = kSpaceA | kSpaceB;
        picture.limits[1] = 110;
    }
    SECTION("by its size") {
        picture.waiters[1].size = 40;
    }
    SECTION("because the memory is not his who waits") {
        picture.held[0].owners = {kEve};
    }
    SECTION("because it is nobody's") {
        picture.held.erase(picture.held.begin());
    }
    CHECK(find_deadlock(picture).stuck.empty());
}

TEST_CASE("One who waits for what he holds himself is a deadlock alone", "[tiers][deadlock]") {
    const WaitPicture picture{{100}, {{0, 60, {kAnn}}}, {wants(kAnn, 50, kSpaceA, 1)}};
    CHECK(find_deadlock(picture).stuck == Positions{0});
}

TEST_CASE("What two hold comes free when both have let go", "[tiers][deadlock]") {
    // Both wait; the 60 bytes count once.
    WaitPicture picture{{100}, {{0, 60, {kAnn, kBob}}}, {wants(kAnn, 40, kSpaceA, 1)}};
    picture.waiters.push_back(wants(kBob, 41, kSpaceA, 2));
    CHECK(find_deadlock(picture).stuck == Positions{1});
    picture.waiters[1].size = 40;
    CHECK(find_deadlock(picture).stuck.empty());
}

TEST_CASE("The victim is one who holds something", "[tiers][deadlock]") {
    const WaitPicture picture{
        {100, 100},
        {{0, 60, {kAnn}}, {1, 60, {kBob}}},
        {wants(kAnn, 50, kSpaceB, 1), wants(kBob, 50, kSpaceA, 2), wants(kEve, 50, kSpaceA, 3)}};
    const WaitVerdict verdict = find_deadlock(picture);
    CHECK(verdict.stuck == Positions{0, 1, 2});
    CHECK(verdict.victim == 1);
}

TEST_CASE("A holder behind a closed request is let past instead", "[tiers][deadlock]") {
    const WaitStanding closes{.passed = 16, .closes = true, .may_pass = false};
    WaitPicture picture{{100},
                        {{0, 30, {kBob}}},
                        {wants(kAnn, 80, kSpaceA, 1, closes), wants(kBob, 10, kSpaceA, 2),
                         wants(kEve, 10, kSpaceA, 3)}};
    WaitVerdict verdict = find_deadlock(picture);
    CHECK(verdict.stuck.empty());
    CHECK(verdict.let_pass == Positions{1});  // Eve has nothing that Ann needs
    picture.waiters[1].standing.may_pass = true;
    verdict = find_deadlock(picture);
    CHECK(verdict.let_pass.empty());
    CHECK(verdict.stuck.empty());
}

// By definition: a waiter is stuck if no sequence of services, one at a time, ever serves him.
struct Exhaustive {
    const WaitPicture& picture;
    std::set<std::uint32_t> seen = {};
    std::uint32_t served = 0;

    bool waits(OwnerId owner, std::uint32_t done) const {
        for (std::size_t at = 0; at < picture.waiters.size(); ++at)
            if (picture.waiters[at].owner == owner && (done >> at & 1) == 0)
                return true;
        return false;
    }

    bool fits(std::size_t at, std::uint32_t done) const {
        for (std::size_t space = 0; space < picture.limits.size(); ++space) {
            if ((picture.waiters[at].spaces & space_bit(space)) == 0)
                continue;
            Bytes kept = 0;
            for (const HeldMemory& memory : picture.held)
                if (memory.space == space &&
                    std::any_of(memory.owners.begin(), memory.owners.end(),
                                [&](OwnerId owner) { return waits(owner, done); }))
                    kept += memory.size;
            if (kept + picture.waiters[at].size <= picture.limits[space])
                return true;
        }
        return false;
    }

    void search(std::uint32_t done) {
        if (!seen.insert(done).second)
            return;
        served |= done;
        for (std::size_t at = 0; at < picture.waiters.size(); ++at)
            if ((done >> at & 1) == 0 && fits(at, done))
                search(done | std::uint32_t{1} << at);
    }
};

TEST_CASE("The reduction finds those whom no order of services reaches", "[tiers][deadlock]") {
    std::size_t deadlocks = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        Random random(seed);
        WaitPicture picture{{20, 20}, {}, {}};
        for (std::size_t at = random.below(7); at > 0; --at) {
            HeldMemory memory{random.below(2), 1 + random.below(8), {OwnerId{1 + random.below(4)}}};
            if (const OwnerId other{1 + random.below(4)}; other != memory.owners[0])
                memory.owners.push_back(other);
            picture.held.push_back(memory);
        }
        for (std::uint64_t at = random.below(6); at > 0; --at)
            picture.waiters.push_back(
                wants(OwnerId{random.below(5)}, 1 + random.below(20), 1 + random.below(3), at));
        Exhaustive exhaustive{picture};
        exhaustive.search(0);
        Positions expected;
        for (std::size_t at = 0; at < picture.waiters.size(); ++at)
            if ((exhaustive.served >> at & 1) == 0)
                expected.push_back(at);
        REQUIRE(find_deadlock(picture).stuck == expected);
        deadlocks += expected.empty() ? 0U : 1U;
    }
    CHECK(deadlocks > 100);
}

TEST_CASE("The report says who holds what and waits for what", "[tiers][deadlock]") {
    WaitPicture picture{{100_MiB, 100_MiB},
                        {{0, 60_MiB, {kAnn}}, {1, 90_MiB, {kBob}}, {1, 5_MiB, {kEve}}},
                        {wants(kAnn, 50_MiB, kSpaceB, 1), wants(kBob, 50_MiB, kSpaceA, 2)}};
    picture.waiters[1].label = "join of two tables";
    const std::vector<SpaceId> ids = {kGpu, kGpu1};
    CHECK(deadlock_text(picture, find_deadlock(picture), ids, {{kAnn, "query 7"}}) ==
          "deadlock of 2 requests that wait for each other's memory\n"
          "  query 7 waits for 50.0 MiB of gpu:1\n"
          "  join of two tables waits for 50.0 MiB of gpu:0 (the last to come)\n"
          "  gpu:0: at most 40.0 MiB of 100 MiB can come free; query 7 holds 60.0 MiB\n"
          "  gpu:1: at most 10.0 MiB of 100 MiB can come free; join of two tables holds 90.0 MiB");
}

// Two threads with a reservation each that want the other's.
struct Circle {
    std::unique_ptr<SpaceSet> spaces;
    MemoryReservation first = spaces->at(0).try_reserve(60, kAnn).value();
    MemoryReservation second = spaces->at(1).try_reserve(60, kBob).value();
    RequestOutcome ann = {};
    std::thread waiting = {};

    void ann_waits() {
        waiting = std::thread([this] {
            ann = request(*spaces, {specific(kGpu1), 50, kAnn}).value();
        });
        while (spaces->queue().waiting() != 1)
            std::this_thread::yield();
    }
};

TEST_CASE("The wait that closes the circle ends with a report", "[tiers][deadlock]") {
    Circle circle{make_spaces({small_space(kGpu, 100), small_space(kGpu1, 100)})};
    circle.spaces->graph().set_name(kAnn, "Ann");
    circle.ann_waits();
    const auto bob = request(*circle.spaces, {specific(kGpu), 50, kBob}, {.label = "Bob"});
    CHECK(bob->end == WaitEnd::deadlock);
    CHECK(!bob->reservation);
    CHECK(bob->report.find("Bob waits for 50 B of gpu:0 (the last to come)") != std::string::npos);
    CHECK(bob->report.find("Ann holds 60 B") != std::string::npos);
    circle.second.release();  // what giving up is for
    circle.waiting.join();
    CHECK(circle.ann.end == WaitEnd::granted);
}

TEST_CASE("A circle that only reports leaves the way out to the program", "[tiers][deadlock]") {
    Circle circle{make_spaces({small_space(kGpu, 100), small_space(kGpu1, 100)},
                              {.on_deadlock = OnDeadlock::report})};
    circle.ann_waits();
    const auto bob =
        request(*circle.spaces, {specific(kGpu), 50, kBob}, {.timeout = 1ms, .label = "Bob"});
    CHECK(bob->end == WaitEnd::timed_out);
    CHECK(!bob->report.empty());
    circle.second.release();
    circle.waiting.join();
    CHECK(circle.ann.end == WaitEnd::granted);
    CHECK(!circle.ann.report.empty());
}

TEST_CASE("Pins count as held, by all who pin", "[tiers][deadlock]") {
    const auto spaces = make_spaces({small_space(kGpu, 100), small_space(kGpu1, 100)});
    WaitGraph& graph = spaces->graph();
    Charge buffer = *spaces->at(0).charge(60);  // outside of any reservation
    const auto ask = [&](OwnerId owner) {
        return request(*spaces, {specific(kGpu), 50, owner}, {.timeout = 1ms})->end;
    };
    CHECK(ask(kAnn) == WaitEnd::timed_out);
    graph.hold(kAnn, 0, 77, 60);
    graph.hold(kAnn, 0, 77, 60);
    CHECK(ask(kAnn) == WaitEnd::deadlock);
    CHECK(ask(kBob) == WaitEnd::timed_out);  // Ann may unpin
    graph.let_go(kAnn, 0, 77);
    CHECK(ask(kAnn) == WaitEnd::deadlock);
    graph.hold(kBob, 0, 77, 60);
    graph.let_go(kAnn, 0, 77);
    CHECK(ask(kAnn) == WaitEnd::timed_out);
    CHECK(ask(kBob) == WaitEnd::deadlock);
    graph.let_go(kBob, 0, 77);
    CHECK(ask(kBob) == WaitEnd::timed_out);
    spaces->at(0).uncharge(buffer);
}

TEST_CASE("The order itself makes no deadlock: holders are let past", "[tiers][deadlock]") {
    const auto spaces = make_spaces({small_space(kGpu, 100)}, {.bypass_limit = 0});
    MemoryReservation held = spaces->at(0).try_reserve(30, kBob).value();
    RequestOutcome ann;
    std::thread large([&] { ann = request(*spaces, {specific(kGpu), 80, kAnn}).value(); });
    while (spaces->queue().waiting() != 1)
        std::this_thread::yield();
    // Ann waits for what Bob has, and Bob stands behind Ann.
    auto bob = request(*spaces, {specific(kGpu), 10, kBob}).value();
    CHECK(bob.end == WaitEnd::granted);
    // Eve has nothing, and passes nobody.
    CHECK(request(*spaces, {specific(kGpu), 10, kEve}, {.timeout = 0ns})->end ==
          WaitEnd::timed_out);
    bob.reservation.release();
    held.release();
    large.join();
    CHECK(ann.end == WaitEnd::granted);
}

// Threads that keep what they have while they ask for more, in every order. Without detection, or
// without letting holders past, they hang.
void run_greedy(std::size_t threads, int rounds, std::uint32_t bypass_limit) {
    const auto spaces = make_spaces({small_space(kGpu, 100), small_space(kGpu1, 100)},
                                    {.bypass_limit = bypass_limit, .detect_every = 1ms});
    const RequestStrategy strategies[] = {specific(kGpu), specific(kGpu1), prefer(kGpu1)};
    std::vector<std::thread> crowd;
    for (std::size_t who = 0; who < threads; ++who)
        crowd.emplace_back([&, who] {
            Random random(who);
            for (int round = 0; round < rounds; ++round) {
                std::vector<MemoryReservation> held;
                for (int step = 0; step < 4; ++step) {
                    const MemoryRequest wish{strategies[random.below(3)], 5 + random.below(40),
                                             OwnerId{who + 1}};
                    auto outcome = request(*spaces, wish).value();
                    if (outcome.end != WaitEnd::granted)
                        break;
                    held.push_back(std::move(outcome.reservation));
                    std::this_thread::yield();
                }
            }
        });
    for (std::thread& thread : crowd)
        thread.join();
    const WaitCounters counters = spaces->queue().counters();
    CHECK(counters.waits == counters.granted + counters.deadlocked);
    CHECK(counters.deadlocked > 0);
    CHECK(spaces->counters().used == 0);
}

TEST_CASE("Those who hold while they wait always get on, or are told", "[tiers][deadlock]") {
    run_greedy(5, 60, GENERATE(0U, 2U, 16U));
}

TEST_CASE("Those who hold while they wait, for long", "[tiers][deadlock][.long]") {
    run_greedy(8, 5'000, GENERATE(0U, 2U, 16U));
}

}  // namespace
