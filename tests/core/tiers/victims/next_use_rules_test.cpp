// What cost, learned and belady do with what is known, guessed and unknown of next uses.
#include <catch2/catch.hpp>

#include "tests/core/tiers/victims/resident_store.h"

namespace tidemark::tests {
namespace {

using Order = std::vector<std::uint32_t>;

TEST_CASE("belady by distance lets go what is used farthest in the future", "[tiers][victims]") {
    ResidentStore store("belady:weigh=distance");
    store.add(0, {.size = 100, .next_use = 30});
    store.add(1, {.size = 100, .next_use = kNeverUsed});
    store.add(2, {.size = 100, .next_use = 50, .dirty = false});
    store.add(3, {.size = 900, .next_use = 40});
    CHECK(store.drain() == Order{1, 2, 3, 0});
}

TEST_CASE("belady by cost weighs the time that is won against the copies", "[tiers][victims]") {
    ResidentStore store("belady");
    store.now = 10;
    store.add(0, {.size = 100, .next_use = 110});                                // 100 / 2
    store.add(1, {.size = 100, .next_use = 70, .dirty = false});                 // 60 / 1
    store.add(2, {.size = 100, .next_use = kNeverUsed, .end = 40});              // 30 / 1
    store.add(3, {.size = 100, .next_use = kNeverUsed, .dirty = false});         // for nothing
    store.add(4, {.size = 100, .next_use = kNeverUsed, .end = kNeverUsed});      // for ever
    store.add(5, {.size = 100, .next_use = 12, .dirty = false, .empty = true});  // for nothing
    CHECK(store.drain() == Order{3, 5, 4, 1, 0, 2});
}

TEST_CASE("what is dead but will not end for long leaves before what is used soon",
          "[tiers][victims]") {
    ResidentStore store("belady");
    store.now = 1000;
    store.add(0, {.size = 100, .next_use = 2000});
    store.add(1, {.size = 100, .next_use = kNeverUsed});  // since now: soon freed, one would think
    CHECK(store.victim() == 0U);
    store.now = 1300;  // 3 * 301 / 1 against 700 / 2
    CHECK(store.victim() == 1U);
}

TEST_CASE("a next use that does not come when it is due is unknown", "[tiers][victims]") {
    ResidentStore store("learned");
    store.add(0, {.size = 100, .next_use = 20});
    store.add(1, {.size = 100, .next_use = 40});
    CHECK(store.victim() == 1U);
    store.now = 39;  // 0 is idle for 38, 1 is due in one
    CHECK(store.victim() == 0U);
    store.now = 50;  // both are overdue: the older one
    store.use(0);
    CHECK(store.victim() == 1U);
}

TEST_CASE("learned without a forecast is lru that weighs costs", "[tiers][victims]") {
    ResidentStore store("learned");
    store.add(0);
    store.now = 10;
    store.add(1, {.size = 100, .dirty = false});
    store.now = 15;  // 15 / 2 against 6 / 1
    CHECK(store.victim() == 0U);
    store.now = 25;  // 25 / 2 against 16 / 1
    CHECK(store.victim() == 1U);
}

TEST_CASE("who is about to be named is asked for once more what is known of it",
          "[tiers][victims]") {
    ResidentStore store("learned");
    store.add(0, {.size = 100, .next_use = 500});
    store.add(1, {.size = 100, .next_use = 400});
    store.change(0, {.size = 100, .next_use = 3});
    CHECK(store.victim() == 1U);
    store.change(1, {.size = 100, .next_use = 2});
    CHECK(store.victim() == 0U);
}

TEST_CASE("cost expects the next use after the mean of a buffer's gaps", "[tiers][victims]") {
    ResidentStore store("cost:companions=0");
    store.add(0);
    store.add(1);
    for (int round = 0; round < 3; ++round) {
        store.now += 10;
        store.use(0);  // every 11 operations
        if (round != 1)
            store.use(1);  // every 24
    }
    const std::uint64_t last = store.now;
    store.now = last + 3;  // 0 is due in 7, 1 in 20: the far one leaves
    CHECK(store.victim() == 1U);
    store.now = last + 14;  // 0 is overdue and idle for 15, 1 is due in 10
    CHECK(store.victim() == 0U);
}

TEST_CASE("cost keeps a buffer's past while it is away, and not longer", "[tiers][victims]") {
    const bool ends = GENERATE(false, true);
    ResidentStore store("cost:companions=0");
    store.add(0);
    store.add(1);
    store.use(1);
    for (int round = 0; round < 3; ++round) {
        store.now += 100;
        store.use(0);
    }
    store.evict(0);
    if (ends) {
        store.free(0);
        store.add(0);
    } else {
        store.bring_back(0);
    }
    store.use(0);
    store.use(1);  // its only gap is some 300 long
    store.now += 30;
    // Due in some 50 after three gaps, or of no known past and idle for 32.
    CHECK(store.victim() == 1U);
    store.now += 200;  // 1 is due in some 70; 0 is overdue, or just idle: 230 either way
    CHECK(store.victim() == 0U);
    store.use(0);
    store.now += 1;
    store.evict(1);
    CHECK(store.victim() == 0U);
}

TEST_CASE("cost believes its owner before its own guess", "[tiers][victims]") {
    ResidentStore store("cost");
    store.add(0, {.size = 100, .next_use = 1000});
    store.add(1, {.size = 100, .next_use = 500});
    for (int round = 0; round < 4; ++round) {
        store.use(0);
        store.use(1);
    }
    CHECK(store.victim() == 0U);
}

// Two groups, used one after the other; then the first one, which is older, begins to return.
TEST_CASE("cost doesn't evict a group that returns from under its first members",
          "[tiers][victims]") {
    const bool companions = GENERATE(true, false);
    ResidentStore store(companions ? "cost:companions=64" : "cost:companions=0");
    for (std::uint32_t id = 0; id < 8; ++id) {
        store.add(id);
        store.use(id);
        store.use(id);
        store.now += id == 3 ? 300 : 0;
    }
    store.now += 300;
    store.use(0);
    store.pin(0);
    CHECK(store.victim() == (companions ? 4U : 1U));
}

}  // namespace
}  // namespace tidemark::tests
