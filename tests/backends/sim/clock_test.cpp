// Virtual time: streams, events, and the recorded time below them.
#include "backends/sim/clock.h"

#include <catch2/catch.hpp>

#include "tests/support/device.h"

using namespace tidemark;
using support::kA;
using support::kB;

TEST_CASE("time is the recorded time plus what was spent") {
    VirtualClock clock;
    clock.replay_clock()->recorded = 100;
    CHECK(clock.now() == 100);
    clock.spend(7);
    CHECK(clock.now() == 107);
    clock.replay_clock()->recorded = 150;
    CHECK(clock.now() == 157);
}

TEST_CASE("work on a stream follows the work before it, and begins when it is queued") {
    VirtualClock clock;
    clock.enqueue(kA, 10);
    clock.enqueue(kA, 10);
    CHECK(clock.busy_until(kA) == 20);
    CHECK(clock.busy_until(kB) == 0);
    clock.replay_clock()->recorded = 50;
    clock.enqueue(kA, 10);
    CHECK(clock.busy_until(kA) == 60);
}

TEST_CASE("waiting for a stream takes the time that its work still needs") {
    VirtualClock clock;
    clock.enqueue(kA, 10);
    clock.enqueue(kB, 30);
    CHECK(clock.drain(kA) == 10);
    CHECK(clock.now() == 10);
    CHECK(clock.drain(kA) == 0);
    CHECK(clock.drain_all() == 20);
    CHECK(clock.now() == 30);
    CHECK(clock.drain_all() == 0);
}

TEST_CASE("an event passes when the work queued before it is done") {
    VirtualClock clock;
    clock.enqueue(kA, 10);
    const EventId event = clock.record(kA);
    clock.enqueue(kA, 100);
    CHECK_FALSE(clock.passed(event));
    clock.replay_clock()->recorded = 9;
    CHECK_FALSE(clock.passed(event));
    clock.replay_clock()->recorded = 10;
    CHECK(clock.passed(event));
}

TEST_CASE("a stream that waits for an event begins after it") {
    VirtualClock clock;
    clock.enqueue(kA, 10);
    const EventId event = clock.record(kA);
    clock.wait(kB, event);
    clock.enqueue(kB, 5);
    CHECK(clock.busy_until(kB) == 15);
    CHECK(clock.drain_all() == 15);
}

TEST_CASE("waiting for an early event does not shorten a stream's own work") {
    VirtualClock clock;
    clock.enqueue(kA, 10);
    clock.enqueue(kB, 100);
    clock.wait(kB, clock.record(kA));
    CHECK(clock.busy_until(kB) == 100);
}

TEST_CASE("event numbers are never reused and stay known after they have passed") {
    VirtualClock clock;
    const EventId first = clock.record(kA);
    clock.replay_clock()->recorded = 1;
    for (int i = 0; i < 1000; ++i)
        clock.record(kA);
    const EventId last = clock.record(kA);
    CHECK(to_integer(first) == 0);
    CHECK(to_integer(last) == 1001);
    CHECK(clock.passed(first));
    CHECK(clock.passed(last));
    CHECK(clock.known(last));
    CHECK_FALSE(clock.known(EventId{1002}));
    clock.wait(kB, first);
    CHECK(clock.busy_until(kB) <= clock.now());
}

TEST_CASE("events keep their moments when some before them have passed") {
    VirtualClock clock;
    clock.record(kA);
    clock.enqueue(kA, 10);
    const EventId second = clock.record(kA);
    clock.enqueue(kA, 10);
    const EventId third = clock.record(kA);
    clock.replay_clock()->recorded = 15;
    CHECK(clock.passed(second));
    CHECK_FALSE(clock.passed(third));
    clock.record(kB);
    CHECK(clock.passed(second));
    CHECK_FALSE(clock.passed(third));
}

TEST_CASE("streams of any number work") {
    VirtualClock clock;
    constexpr StreamId kFar{0xffffffff};
    clock.enqueue(kFar, 10);
    CHECK(clock.busy_until(kFar) == 10);
    CHECK(clock.busy_until(StreamId{0xfffffffe}) == 0);
    CHECK(clock.drain(kFar) == 10);
}
