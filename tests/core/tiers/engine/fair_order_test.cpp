// The fair order: who is tried first, who may pass whom, and how often.
#include "core/tiers/engine/fair_order.h"

#include <algorithm>
#include <map>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/core/tiers/small_machine.h"

namespace {

using namespace tidemark;

// A space with `free` bytes, and requests for it with their sizes.
struct Room {
    FairOrder<int> order;
    std::map<int, std::uint64_t> sizes = {};
    std::uint64_t free = 0;
    std::vector<int> served = {};

    void arrive(int id, std::uint64_t size, std::int32_t priority = 0) {
        sizes[id] = size;
        order.push(id, priority, kSpaceA);
    }

    SpaceMask take(int id) {
        if (sizes.at(id) > free)
            return 0;
        free -= sizes.at(id);
        served.push_back(id);
        return kSpaceA;
    }

    std::size_t round() {
        return order.try_each([&](int id, SpaceMask) { return take(id); });
    }
};

std::vector<int> tried(FairOrder<int>& order, SpaceMask freed = kAllSpaces) {
    std::vector<int> ids;
    order.try_each(
        [&](int id, SpaceMask) {
            ids.push_back(id);
            return SpaceMask{0};
        },
        freed);
    return ids;
}

TEST_CASE("Requests are tried by priority, then by arrival", "[tiers][wait]") {
    FairOrder<int> order;
    order.push(1, 0, kSpaceA);
    order.push(2, 5, kSpaceA);
    order.push(3, -1, kSpaceA);
    order.push(4, 5, kSpaceA);
    order.push(5, 0, kSpaceA);
    CHECK(tried(order) == std::vector{2, 4, 1, 5, 3});
    CHECK(order.erase(4) == 0);
    CHECK(order.erase(4) == 0);
    CHECK(tried(order) == std::vector{2, 1, 5, 3});
    CHECK(order.size() == 4);
    order.clear();
    CHECK(order.empty());
}

TEST_CASE("What was freed in one space concerns those who want it", "[tiers][wait]") {
    FairOrder<int> order;
    order.push(1, 0, kSpaceA);
    order.push(2, 0, kSpaceB);
    order.push(3, 0, kSpaceA | kSpaceB);
    CHECK(tried(order, kSpaceA) == std::vector{1, 3});
    CHECK(tried(order, kSpaceB) == std::vector{2, 3});
}

TEST_CASE("Room for two small ones behind a large one serves both in one round (defect 8)",
          "[tiers][wait]") {
    Room room{FairOrder<int>(16)};
    room.arrive(1, 100);
    room.arrive(2, 10);
    room.arrive(3, 10);
    room.free = 20;
    CHECK(room.round() == 2);
    CHECK(room.served == std::vector{2, 3});
    CHECK(room.order.size() == 1);
}

TEST_CASE("A large request is passed as often as the limit says, and no more", "[tiers][wait]") {
    const std::uint32_t limit = GENERATE(0U, 1U, 3U, 16U);
    Room room{FairOrder<int>(limit)};
    room.arrive(0, 500);
    // Small ones that would fit for ever.
    for (int id = 1; id <= 40; ++id) {
        room.free += 10;
        room.arrive(id, 10);
        room.round();
    }
    CHECK(room.served.size() == limit);
    CHECK(room.free == 10 * (40 - limit));
    room.free = 500;
    room.round();
    REQUIRE(room.served.size() > limit);
    CHECK(room.served[limit] == 0);
    room.free = 1000;
    room.round();
    CHECK(room.order.empty());
}

TEST_CASE("The limit is reached within a round, too", "[tiers][wait]") {
    Room room{FairOrder<int>(2)};
    room.arrive(0, 100);
    for (int id = 1; id <= 5; ++id)
        room.arrive(id, 10);
    room.free = 50;
    CHECK(room.round() == 2);
    CHECK(room.served == std::vector{1, 2});
}

TEST_CASE("A higher priority goes first and is no bypass", "[tiers][wait]") {
    Room room{FairOrder<int>(1)};
    room.arrive(0, 100, 0);
    for (int id = 1; id <= 8; ++id) {
        room.free += 10;
        room.arrive(id, 10, 1);
        CHECK(room.round() == 1);
    }
    room.order.for_each([](int, WaitStanding standing) {
        CHECK(standing.passed == 0);
        CHECK(!standing.closes);
    });
}

TEST_CASE("A closed request holds up nobody who wants another space", "[tiers][wait]") {
    FairOrder<int> order(0);
    order.push(1, 0, kSpaceA);
    order.push(2, 0, kSpaceB);
    order.push(3, 0, kSpaceA | kSpaceB);
    order.push(4, 0, kSpaceA);
    std::map<int, SpaceMask> seen;
    order.try_each([&](int id, SpaceMask open) {
        seen[id] = open;
        return id == 2 ? kSpaceB : SpaceMask{0};
    });
    CHECK(seen == std::map<int, SpaceMask>{{1, kSpaceA}, {2, kSpaceB}, {3, kSpaceB}});
    CHECK(order.size() == 3);
}

TEST_CASE("One who leaves says whom he held up", "[tiers][wait]") {
    Room room{FairOrder<int>(1)};
    room.arrive(1, 100);
    room.arrive(2, 10);
    room.arrive(3, 10);
    room.free = 20;
    CHECK(room.round() == 1);
    CHECK(room.order.erase(1) == kSpaceA);
    CHECK(room.round() == 1);
    CHECK(room.served == std::vector{2, 3});
}

TEST_CASE("One who is served in one space opens the others that he had closed", "[tiers][wait]") {
    FairOrder<int> order(0);
    order.push(1, 0, kSpaceA | kSpaceB);
    order.push(2, 0, kSpaceA);
    std::vector<int> served;
    order.try_each(
        [&](int id, SpaceMask) {
            served.push_back(id);
            return id == 1 ? kSpaceB : kSpaceA;
        },
        kSpaceB);
    CHECK(served == std::vector{1, 2});
}

// The same by a plain list of rules, for random arrivals, deferred and frees.
struct Reference {
    struct Entry {
        int id;
        std::int32_t priority;
        SpaceMask spaces;
        std::uint32_t passed;
    };

    std::uint32_t limit;
    std::vector<Entry> entries = {};

    void push(int id, std::int32_t priority, SpaceMask spaces) {
        entries.push_back({id, priority, spaces, 0});
        std::stable_sort(entries.begin(), entries.end(),
                         [](const Entry& a, const Entry& b) { return a.priority > b.priority; });
    }

    bool closed(std::size_t at, SpaceMask space) const {
        for (std::size_t before = 0; before < at; ++before)
            if ((entries[before].spaces & space) != 0 && entries[before].passed >= limit)
                return true;
        return false;
    }

    // The first, in order, who fits an open space; he is served from the lowest such.
    int serve_one(std::uint64_t (&free)[2], const std::map<int, std::uint64_t>& sizes) {
        for (std::size_t at = 0; at < entries.size(); ++at)
            for (std::size_t space = 0; space < 2; ++space) {
                const Entry entry = entries[at];
                if ((entry.spaces & space_bit(space)) == 0 || closed(at, space_bit(space)) ||
                    sizes.at(entry.id) > free[space])
                    continue;
                free[space] -= sizes.at(entry.id);
                for (std::size_t before = 0; before < at; ++before)
                    if ((entries[before].spaces & space_bit(space)) != 0)
                        ++entries[before].passed;
                entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at));
                return entry.id;
            }
        return -1;
    }
};

TEST_CASE("A round serves whom the rules serve one by one", "[tiers][wait]") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Random random(seed);
        const auto limit = static_cast<std::uint32_t>(random.below(4));
        FairOrder<int> order(limit);
        Reference reference{limit};
        std::map<int, std::uint64_t> sizes;
        std::uint64_t free[2] = {0, 0};
        std::uint64_t expected_free[2] = {0, 0};
        for (int step = 0; step < 60; ++step) {
            SpaceMask arrived = 0;
            if (random.below(3) != 0) {
                sizes[step] = 1 + random.below(20);
                const auto priority = static_cast<std::int32_t>(random.below(2));
                arrived = 1 + random.below(3);
                order.push(step, priority, arrived);
                reference.push(step, priority, arrived);
            }
            const std::size_t space = random.below(2);
            const std::uint64_t more = random.below(12);
            free[space] += more;
            expected_free[space] += more;
            std::vector<int> served;
            const auto attempt = [&](int id, SpaceMask open) {
                for (std::size_t at = 0; at < 2; ++at)
                    if ((open & space_bit(at)) != 0 && sizes.at(id) <= free[at]) {
                        free[at] -= sizes.at(id);
                        served.push_back(id);
                        return space_bit(at);
                    }
                return SpaceMask{0};
            };
            // Newcomers are tried where they want; the others where something was freed.
            order.try_each(attempt, arrived | space_bit(space));
            std::vector<int> expected;
            for (int id = 0; (id = reference.serve_one(expected_free, sizes)) >= 0;)
                expected.push_back(id);
            REQUIRE(served == expected);
            REQUIRE(order.size() == reference.entries.size());
        }
    }
}

}  // namespace
