// Each victim policy's own rule, on cases small enough to follow by hand.
#include <catch2/catch.hpp>

#include "tests/core/tiers/victims/resident_store.h"

namespace tidemark::tests {
namespace {

using Order = std::vector<std::uint32_t>;

void add_all(ResidentStore& store, std::uint32_t count) {
    for (std::uint32_t id = 0; id < count; ++id)
        store.add(id);
}

TEST_CASE("lru lets go what was used longest ago", "[tiers][victims]") {
    ResidentStore store("lru");
    add_all(store, 4);
    store.use(0);
    store.use(2);
    store.use(0);
    CHECK(store.drain() == Order{1, 3, 2, 0});
}

TEST_CASE("lru passes over what may not leave and comes back to it", "[tiers][victims]") {
    ResidentStore store("lru");
    add_all(store, 3);
    store.pin(0);
    CHECK(store.evict_next() == 1U);
    store.pin(0, false);
    CHECK(store.evict_next() == 0U);
    CHECK(store.evict_next() == 2U);
    CHECK_FALSE(store.evict_next());
}

TEST_CASE("clock gives what was used one more round", "[tiers][victims]") {
    ResidentStore store("clock");
    add_all(store, 4);
    store.use(0);
    store.use(1);
    CHECK(store.evict_next() == 2U);  // the hand took the marks of 0 and 1 on its way
    store.use(0);
    CHECK(store.evict_next() == 3U);
    CHECK(store.evict_next() == 1U);  // 0 was marked again, and stood before 1
    CHECK(store.evict_next() == 0U);
}

TEST_CASE("clock leaves the mark of what may not leave", "[tiers][victims]") {
    ResidentStore store("clock");
    add_all(store, 2);
    store.use(0);
    store.pin(0);
    CHECK(store.evict_next() == 1U);
    store.pin(0, false);
    store.add(2);
    CHECK(store.evict_next() == 2U);  // 0 still had its mark
}

TEST_CASE("sieve keeps what proved itself and lets newcomers go first", "[tiers][victims]") {
    ResidentStore store("sieve");
    add_all(store, 3);
    for (const std::uint32_t id : {0U, 1U, 2U})
        store.use(id);  // the use for which each came in: no mark
    store.use(0);
    CHECK(store.evict_next() == 1U);  // the hand took 0's mark and stands behind it
    store.add(3);
    store.use(3);
    CHECK(store.evict_next() == 2U);
    CHECK(store.evict_next() == 3U);  // on to the newest, though 0 is older and unmarked
    CHECK(store.evict_next() == 0U);
}

TEST_CASE("sieve's hand survives the departure of what it stands at", "[tiers][victims]") {
    ResidentStore store("sieve");
    add_all(store, 3);
    CHECK(store.victim() == 0U);
    store.free(0);
    CHECK(store.victim() == 1U);
    store.evict(1);
    store.free(2);
    CHECK_FALSE(store.victim());
    store.add(0);
    CHECK(store.victim() == 0U);
}

TEST_CASE("s3fifo lets newcomers go before what was used again", "[tiers][victims]") {
    ResidentStore store("s3fifo:small=0.1", 1000);
    add_all(store, 4);
    for (const std::uint32_t id : {0U, 0U, 0U, 1U, 1U})
        store.use(id);  // 0 twice beyond the first, 1 once
    CHECK(store.evict_next() == 1U);
    CHECK(store.evict_next() == 2U);
    CHECK(store.evict_next() == 0U);  // newcomers have their share of 100 bytes: main's turn
    CHECK(store.evict_next() == 3U);
}

TEST_CASE("s3fifo remembers who left the small queue, while it is within bounds",
          "[tiers][victims]") {
    const bool remembers = GENERATE(true, false);
    ResidentStore store(remembers ? "s3fifo" : "s3fifo:ghost=0", 1000);
    add_all(store, 3);
    CHECK(store.evict_next() == 0U);
    store.bring_back(0);  // from the ghosts: main; else a newcomer behind 1 and 2
    CHECK(store.evict_next() == 1U);
    CHECK(store.evict_next() == (remembers ? 0U : 2U));
}

TEST_CASE("s3fifo's ghost ends with its buffer's life", "[tiers][victims]") {
    ResidentStore store("s3fifo", 1000);
    add_all(store, 3);
    CHECK(store.evict_next() == 0U);
    store.free(0);
    store.add(0);  // another buffer under the same id: a newcomer
    CHECK(store.evict_next() == 1U);
    CHECK(store.evict_next() == 2U);
}

TEST_CASE("gdsf weighs uses, cost and size", "[tiers][victims]") {
    SECTION("what was used less leaves first") {
        ResidentStore store("gdsf");
        add_all(store, 3);
        for (const std::uint32_t id : {0U, 0U, 1U, 2U, 2U})
            store.use(id);
        CHECK(store.drain() == Order{1, 0, 2});
    }
    SECTION("what is clean leaves first, and what is empty before it") {
        ResidentStore store("gdsf:overhead=0");
        store.add(0, {.size = 100});
        store.add(1, {.size = 100, .dirty = false});
        store.add(2, {.size = 100, .dirty = false, .empty = true});
        CHECK(store.drain() == Order{2, 1, 0});
    }
    SECTION("a small one is worth more for each byte") {
        ResidentStore store("gdsf:overhead=1000");
        store.add(0, {.size = 10});
        store.add(1, {.size = 1000});
        CHECK(store.drain() == Order{1, 0});
    }
    SECTION("uses of long ago lose weight") {
        ResidentStore store("gdsf:overhead=0");
        store.add(0);
        for (int i = 0; i < 4; ++i)
            store.use(0);
        std::uint32_t id = 1;
        for (; id < 10 && store.resident(0); ++id) {
            store.add(id);
            store.use(id);
            CHECK(store.evict_next() == (id < 3 ? id : 0U));
        }
        CHECK(id == 4);
    }
    SECTION("what becomes clean is looked at again") {
        ResidentStore store("gdsf");
        add_all(store, 2);
        store.revise(1, {.size = 100, .dirty = false});
        CHECK(store.drain() == Order{1, 0});
    }
}

TEST_CASE("largest lets the largest go, the longest unused among equals", "[tiers][victims]") {
    ResidentStore store("largest");
    store.add(0, {.size = 5});
    store.add(1, {.size = 7});
    store.add(2, {.size = 7});
    store.add(3, {.size = 6});
    store.use(1);
    CHECK(store.drain() == Order{2, 1, 3, 0});
}

TEST_CASE("hint does as the program wishes, and as lru where it doesn't say", "[tiers][victims]") {
    ResidentStore store("hint");
    add_all(store, 4);
    store.use(0);
    store.revise(3, {.size = 100, .hint = 1});
    store.revise(2, {.size = 100, .hint = -1});
    CHECK(store.drain() == Order{2, 1, 0, 3});
}

TEST_CASE("a wish is no use", "[tiers][victims]") {
    ResidentStore store("hint");
    add_all(store, 2);
    store.revise(0, {.size = 100, .hint = 5});
    store.revise(0, {.size = 100, .hint = 0});
    CHECK(store.drain() == Order{0, 1});
}

}  // namespace
}  // namespace tidemark::tests
