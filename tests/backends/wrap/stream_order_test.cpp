// Vector clocks: what is ordered before what.
#include "backends/wrap/stream_order.h"

#include <catch2/catch.hpp>

#include "tests/support/device.h"

using namespace tidemark;
using support::kA;
using support::kB;
using support::kC;

TEST_CASE("a stream's work is before what it runs next, and nobody else's") {
    StreamOrder order;
    const auto work = order.work_of(kA);
    CHECK(order.before(work, kA));
    CHECK_FALSE(order.before(work, kB));
    CHECK_FALSE(order.seen_by_host(work));
}

TEST_CASE("waiting for an event orders what came before it") {
    StreamOrder order;
    const auto early = order.work_of(kA);
    order.recorded(kA, EventId{0});
    const auto late = order.work_of(kA);
    order.waited(kB, EventId{0});
    CHECK(order.before(early, kB));
    CHECK_FALSE(order.before(late, kB));
    CHECK_FALSE(order.before(early, kC));
    CHECK_FALSE(order.seen_by_host(early));
}

TEST_CASE("order is transitive through a third stream") {
    StreamOrder order;
    const auto work = order.work_of(kA);
    order.recorded(kA, EventId{0});
    order.waited(kB, EventId{0});
    order.recorded(kB, EventId{1});
    order.waited(kC, EventId{1});
    CHECK(order.before(work, kC));
}

TEST_CASE("an event recorded before the wait does not carry what the wait brought") {
    StreamOrder order;
    const auto work = order.work_of(kA);
    order.recorded(kB, EventId{0});
    order.recorded(kA, EventId{1});
    order.waited(kB, EventId{1});
    order.waited(kC, EventId{0});
    CHECK_FALSE(order.before(work, kC));
}

TEST_CASE("what the host has seen complete is before everything that follows") {
    StreamOrder order;
    const auto work = order.work_of(kA);
    order.recorded(kA, EventId{0});
    const auto late = order.work_of(kA);
    order.seen_complete(EventId{0});
    CHECK(order.seen_by_host(work));
    CHECK(order.before(work, kC));
    CHECK_FALSE(order.seen_by_host(late));
}

TEST_CASE("synchronizing a stream shows the host its work and what it waited for") {
    StreamOrder order;
    const auto a = order.work_of(kA);
    const auto b = order.work_of(kB);
    order.recorded(kA, EventId{0});
    order.waited(kB, EventId{0});
    order.synchronized(kB);
    CHECK(order.seen_by_host(a));
    CHECK(order.seen_by_host(b));
    CHECK_FALSE(order.seen_by_host(order.work_of(kB)));
    CHECK_FALSE(order.seen_by_host(order.work_of(kA)));
}

TEST_CASE("synchronizing the device shows the host everything so far") {
    StreamOrder order;
    const auto a = order.work_of(kA);
    const auto b = order.work_of(kB);
    order.synchronized_all();
    CHECK(order.seen_by_host(a));
    CHECK(order.seen_by_host(b));
    CHECK_FALSE(order.before(order.work_of(kA), kB));
}

TEST_CASE("waiting for an event that was seen complete, or never was, orders nothing more") {
    StreamOrder order;
    order.recorded(kA, EventId{0});
    order.seen_complete(EventId{0});
    order.recorded(kA, EventId{1});
    const auto late = order.work_of(kA);
    order.waited(kB, EventId{0});
    order.waited(kB, EventId{77});
    CHECK_FALSE(order.before(late, kB));
}

TEST_CASE("waiting for a forgotten event counts as waiting for all forgotten ones") {
    StreamOrder order(2);
    const auto first = order.work_of(kA);
    order.recorded(kA, EventId{0});
    const auto second = order.work_of(kA);
    order.recorded(kA, EventId{1});
    order.recorded(kA, EventId{2});
    order.recorded(kA, EventId{3});  // 0 and 1 are forgotten
    const auto last = order.work_of(kA);
    order.waited(kB, EventId{0});
    CHECK(order.before(first, kB));
    CHECK(order.before(second, kB));
    CHECK_FALSE(order.before(last, kB));
    order.waited(kC, EventId{3});
    CHECK(order.before(second, kC));
}
