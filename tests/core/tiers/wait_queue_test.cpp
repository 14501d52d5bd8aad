// The queue with real threads: who is woken, by what, and in which order. Every wait for a state of
// another thread is for something that the queue itself shows.
#include "core/tiers/wait_queue.h"

#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/core/tiers/small_machine.h"

namespace {

using namespace tidemark;
using namespace std::chrono_literals;

// Two spaces as plain numbers behind a lock.
class Rooms {
  public:
    explicit Rooms(std::uint64_t a = 0, std::uint64_t b = 0) : free_{a, b} {}

    SpaceMask take(std::uint64_t size, SpaceMask open) {
        const std::lock_guard lock(mutex_);
        for (std::size_t at = 0; at < 2; ++at)
            if ((open & space_bit(at)) != 0 && size <= free_[at]) {
                free_[at] -= size;
                return space_bit(at);
            }
        return 0;
    }

    void give(std::uint64_t size, std::size_t at = 0) {
        const std::lock_guard lock(mutex_);
        free_[at] += size;
    }

    std::uint64_t free(std::size_t at = 0) const {
        const std::lock_guard lock(mutex_);
        return free_[at];
    }

  private:
    mutable std::mutex mutex_;
    std::uint64_t free_[2];
};

void until_waiting(const WaitQueue& queue, std::size_t count) {
    while (queue.waiting() != count)
        std::this_thread::yield();
}

// A thread that waits for `size` bytes.
class Sleeper {
  public:
    Sleeper(WaitQueue& queue, Rooms& rooms, std::uint64_t size, WaitRequest request)
        : thread_([this, &queue, &rooms, size, request = std::move(request)] {
              result_ = queue.wait(request,
                                   [&](SpaceMask open) { return taken_ = rooms.take(size, open); });
          }) {}

    WaitEnd end() {
        thread_.join();
        return result_.end;
    }

    const std::string& report() const { return result_.report; }

    SpaceMask taken() const { return taken_; }

  private:
    WaitResult result_;
    SpaceMask taken_ = 0;
    std::thread thread_;
};

WaitRequest in(SpaceMask spaces, std::int32_t priority = 0) {
    return {.spaces = spaces, .priority = priority};
}

TEST_CASE("What fits is granted at once, what doesn't is not, and nothing is lost",
          "[tiers][wait]") {
    WaitQueue queue;
    Rooms rooms(10);
    const auto take = [&](std::uint64_t size) {
        return [&rooms, size](SpaceMask open) { return rooms.take(size, open); };
    };
    CHECK(queue.wait({.timeout = 0ns}, take(6)).end == WaitEnd::granted);
    CHECK(queue.wait({.timeout = 0ns}, take(6)).end == WaitEnd::timed_out);
    CHECK(queue.wait({.timeout = -1ns}, take(4)).end == WaitEnd::granted);
    CHECK(queue.wait({.timeout = 1ms}, take(1)).end == WaitEnd::timed_out);
    CHECK(!queue.try_now({}, take(1)));
    rooms.give(1);
    CHECK(queue.try_now({}, take(1)));
    CHECK(queue.waiting() == 0);
    CHECK(queue.counters().timed_out == 2);
}

TEST_CASE("One notice wakes all small ones that fit behind a large one (defect 8)",
          "[tiers][wait]") {
    WaitQueue queue;
    Rooms rooms;
    Sleeper large(queue, rooms, 100, in(kSpaceA));
    until_waiting(queue, 1);
    Sleeper one(queue, rooms, 10, in(kSpaceA));
    Sleeper two(queue, rooms, 10, in(kSpaceA));
    until_waiting(queue, 3);
    rooms.give(20);
    queue.notify(kSpaceA);
    CHECK(one.end() == WaitEnd::granted);
    CHECK(two.end() == WaitEnd::granted);
    CHECK(queue.waiting() == 1);
    rooms.give(100);
    queue.notify(kSpaceA);
    CHECK(large.end() == WaitEnd::granted);
    CHECK(rooms.free() == 0);
}

TEST_CASE("What is freed in any of its spaces wakes a request (defect 10)", "[tiers][wait]") {
    WaitQueue queue;
    Rooms rooms;
    const std::size_t freed = GENERATE(0U, 1U);
    Sleeper sleeper(queue, rooms, 10, in(kSpaceA | kSpaceB));
    until_waiting(queue, 1);
    rooms.give(10, freed);
    queue.notify(space_bit(freed));
    CHECK(sleeper.end() == WaitEnd::granted);
    CHECK(sleeper.taken() == space_bit(freed));
}

TEST_CASE("Shutting down wakes everyone, and later requests too (defects 8, 9)", "[tiers][wait]") {
    WaitQueue queue;
    Rooms rooms;
    std::vector<std::unique_ptr<Sleeper>> sleepers;
    for (int i = 0; i < 5; ++i)
        sleepers.push_back(std::make_unique<Sleeper>(queue, rooms, 1, in(kSpaceA)));
    until_waiting(queue, 5);
    queue.shut_down();
    for (const auto& sleeper : sleepers)
        CHECK(sleeper->end() == WaitEnd::shut_down);
    rooms.give(10);
    const auto take = [&](SpaceMask open) { return rooms.take(1, open); };
    CHECK(queue.wait({}, take).end == WaitEnd::shut_down);
    CHECK(!queue.try_now({}, take));
    queue.shut_down();
    CHECK(rooms.free() == 10);
    CHECK(queue.counters().shut_down == 5);
}

TEST_CASE("The destructor sends those who wait home and waits for them (defect 9)",
          "[tiers][wait]") {
    for (int round = 0; round < 50; ++round) {
        auto queue = std::make_unique<WaitQueue>();
        Rooms rooms;
        Sleeper one(*queue, rooms, 1, in(kSpaceA));
        Sleeper two(*queue, rooms, 1, in(kSpaceB));
        until_waiting(*queue, 2);
        queue.reset();
        CHECK(one.end() == WaitEnd::shut_down);
        CHECK(two.end() == WaitEnd::shut_down);
    }
}

TEST_CASE("Memory comes by priority, then by arrival", "[tiers][wait]") {
    WaitQueue queue;
    Rooms rooms;
    Sleeper late(queue, rooms, 10, in(kSpaceA, -1));
    until_waiting(queue, 1);
    Sleeper first(queue, rooms, 10, in(kSpaceA));
    until_waiting(queue, 2);
    Sleeper second(queue, rooms, 10, in(kSpaceA));
    until_waiting(queue, 3);
    Sleeper urgent(queue, rooms, 10, in(kSpaceA, 7));
    until_waiting(queue, 4);
    std::vector<Sleeper*> expected = {&urgent, &first, &second, &late};
    for (Sleeper* sleeper : expected) {
        rooms.give(10);
        queue.notify(kSpaceA);
        CHECK(sleeper->end() == WaitEnd::granted);
        CHECK(rooms.free() == 0);
    }
}

TEST_CASE("A large request is passed as often as allowed, by newcomers too", "[tiers][wait]") {
    WaitQueue queue({.bypass_limit = 3});
    Rooms rooms(30);
    Sleeper large(queue, rooms, 100, in(kSpaceA));
    until_waiting(queue, 1);
    int passed = 0;
    const auto small = [&](SpaceMask open) { return rooms.take(1, open); };
    for (int i = 0; i < 10; ++i)
        passed += queue.try_now(in(kSpaceA), small) ? 1 : 0;
    CHECK(passed == 3);
    CHECK(queue.wait({.spaces = kSpaceA, .timeout = 0ns}, small).end == WaitEnd::timed_out);
    // Who doesn't compete is not concerned.
    rooms.give(1, 1);
    CHECK(queue.try_now(in(kSpaceB), small));
    rooms.give(73);
    queue.notify(kSpaceA);
    CHECK(large.end() == WaitEnd::granted);
    CHECK(rooms.free() == 0);
}

TEST_CASE("One who gives up has those behind him tried", "[tiers][wait]") {
    WaitQueue queue({.bypass_limit = 0});
    Rooms rooms(10);
    std::stop_source cancel;
    WaitRequest large = in(kSpaceA);
    const bool by_timeout = GENERATE(false, true);
    if (by_timeout)
        large.timeout = 20ms;
    else
        large.cancel = cancel.get_token();
    Sleeper first(queue, rooms, 100, large);
    until_waiting(queue, 1);
    Sleeper behind(queue, rooms, 10, in(kSpaceA));
    if (!by_timeout) {
        until_waiting(queue, 2);
        CHECK(cancel.request_stop());
    }
    CHECK(behind.end() == WaitEnd::granted);
    CHECK(first.end() == (by_timeout ? WaitEnd::timed_out : WaitEnd::cancelled));
}

TEST_CASE("A request may be cancelled before it begins, and after it has ended", "[tiers][wait]") {
    WaitQueue queue;
    Rooms rooms(10);
    std::stop_source cancel;
    const auto take = [&](SpaceMask open) { return rooms.take(1, open); };
    CHECK(queue.wait({.cancel = cancel.get_token()}, take).end == WaitEnd::granted);
    cancel.request_stop();
    CHECK(queue.wait({.cancel = cancel.get_token()}, take).end == WaitEnd::cancelled);
    CHECK(rooms.free() == 9);
}

TEST_CASE("A notice from within an attempt neither hangs nor is lost", "[tiers][wait]") {
    WaitQueue queue;
    Rooms rooms;
    // Takes from one space and gives back to another on the way.
    const auto exchange = [&](SpaceMask open) {
        const SpaceMask taken = rooms.take(10, open);
        if (taken != 0)
            rooms.give(4, 1);
        queue.notify(kSpaceB);
        return taken;
    };
    WaitEnd end = WaitEnd::timed_out;
    std::thread second([&] { end = queue.wait(in(kSpaceA), exchange).end; });
    until_waiting(queue, 1);
    Sleeper first(queue, rooms, 4, in(kSpaceB, 1));
    until_waiting(queue, 2);
    rooms.give(10);
    queue.notify(kSpaceA);
    second.join();
    CHECK(end == WaitEnd::granted);
    CHECK(first.end() == WaitEnd::granted);
    CHECK(rooms.free(1) == 0);
}

// Finds what it is told to.
class Oracle final : public DeadlockDetector {
  public:
    std::atomic<bool> armed = false;
    std::atomic<int> asked = 0;
    bool passing = false;

    WaitFindings find(std::span<const Waiter> waiters) override {
        ++asked;
        if (!armed || waiters.empty())
            return {};
        if (passing && waiters.back().standing.may_pass)
            return {};
        if (passing)
            return {.let_pass = {waiters.size() - 1}};
        WaitFindings findings;
        for (std::size_t at = 0; at < waiters.size(); ++at)
            findings.stuck.push_back(at);
        findings.victim = waiters.size() - 1;
        findings.report = "a circle";
        if (waiters.size() < 2)
            return {};
        return findings;
    }
};

TEST_CASE("The victim of a deadlock ends with its report, the others go on", "[tiers][wait]") {
    Oracle oracle;
    oracle.armed = true;
    WaitQueue queue({.detector = &oracle});
    Rooms rooms;
    Sleeper first(queue, rooms, 1, in(kSpaceA));
    until_waiting(queue, 1);
    Sleeper second(queue, rooms, 1, in(kSpaceA));
    CHECK(second.end() == WaitEnd::deadlock);
    CHECK(second.report() == "a circle");
    CHECK(queue.waiting() == 1);
    rooms.give(1);
    queue.notify();
    CHECK(first.end() == WaitEnd::granted);
    CHECK(first.report().empty());
    CHECK(queue.counters().deadlocks == 1);
    CHECK(queue.counters().deadlocked == 1);
}

TEST_CASE("A queue that only reports ends nobody's wait", "[tiers][wait]") {
    Oracle oracle;
    oracle.armed = true;
    WaitQueue queue({.detector = &oracle, .on_deadlock = OnDeadlock::report});
    Rooms rooms;
    Sleeper first(queue, rooms, 1, in(kSpaceA));
    Sleeper second(queue, rooms, 1, in(kSpaceA));
    until_waiting(queue, 2);
    while (queue.counters().deadlocks == 0)
        std::this_thread::yield();
    oracle.armed = false;
    rooms.give(2);
    queue.notify();
    CHECK(first.end() == WaitEnd::granted);
    CHECK(second.end() == WaitEnd::granted);
    CHECK(first.report() == "a circle");
    CHECK(second.report() == "a circle");
    CHECK(queue.counters().deadlocks == 1);
}

TEST_CASE("A deadlock that arises later is found at the next interval", "[tiers][wait]") {
    Oracle oracle;
    WaitQueue queue({.detector = &oracle, .detect_every = 1ms});
    Rooms rooms;
    Sleeper first(queue, rooms, 1, in(kSpaceA));
    Sleeper second(queue, rooms, 1, in(kSpaceA));
    until_waiting(queue, 2);
    oracle.armed = true;
    until_waiting(queue, 1);
    oracle.armed = false;
    queue.shut_down();
    const WaitEnd ends[] = {first.end(), second.end()};
    CHECK(((ends[0] == WaitEnd::deadlock) != (ends[1] == WaitEnd::deadlock)));
}

TEST_CASE("One who must be let past is served where the order had closed", "[tiers][wait]") {
    Oracle oracle;
    oracle.passing = true;
    WaitQueue queue({.bypass_limit = 0, .detector = &oracle, .detect_every = 1ms});
    Rooms rooms(10);
    Sleeper large(queue, rooms, 100, in(kSpaceA));
    until_waiting(queue, 1);
    Sleeper small(queue, rooms, 10, in(kSpaceA));
    until_waiting(queue, 2);
    oracle.armed = true;
    CHECK(small.end() == WaitEnd::granted);
    rooms.give(100);
    queue.notify();
    CHECK(large.end() == WaitEnd::granted);
}

// Threads that take, hold a while and give back, some with timeouts and cancellation: nobody may be
// left asleep, nothing may be lost.
void run_crowd(std::size_t threads, int steps, std::uint32_t bypass_limit) {
    WaitQueue queue({.bypass_limit = bypass_limit});
    Rooms rooms(100, 60);
    std::atomic<std::uint64_t> granted = 0;
    std::vector<std::thread> crowd;
    for (std::size_t who = 0; who < threads; ++who)
        crowd.emplace_back([&, who] {
            Random random(who);
            for (int step = 0; step < steps; ++step) {
                const std::uint64_t size = 1 + random.below(random.below(4) == 0 ? 60 : 12);
                std::stop_source cancel;
                WaitRequest request = in(1 + random.below(3));
                request.priority = static_cast<std::int32_t>(random.below(3));
                if (random.below(4) == 0)
                    request.timeout = std::chrono::microseconds(random.below(200));
                std::thread canceller;
                if (random.below(16) == 0) {
                    request.cancel = cancel.get_token();
                    canceller = std::thread([&cancel] { cancel.request_stop(); });
                }
                SpaceMask taken = 0;
                const WaitResult result = queue.wait(
                    request, [&](SpaceMask open) { return taken = rooms.take(size, open); });
                if (canceller.joinable())
                    canceller.join();
                if (result.end != WaitEnd::granted)
                    continue;
                ++granted;
                if (random.below(2) == 0)
                    std::this_thread::yield();
                rooms.give(size, taken == kSpaceA ? 0 : 1);
                queue.notify(taken);
            }
        });
    for (std::thread& thread : crowd)
        thread.join();
    CHECK(granted > 0);
    CHECK(queue.waiting() == 0);
    CHECK(rooms.free(0) == 100);
    CHECK(rooms.free(1) == 60);
}

TEST_CASE("A crowd that takes, waits, gives up and gives back always goes home", "[tiers][wait]") {
    run_crowd(6, 400, GENERATE(0U, 2U, 16U));
}

TEST_CASE("A crowd for long", "[tiers][wait][.long]") {
    run_crowd(16, 20'000, GENERATE(0U, 2U, 16U));
}

}  // namespace
