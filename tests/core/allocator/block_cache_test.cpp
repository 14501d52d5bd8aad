// What a thread's cache holds, and what it lets go.
#include "core/allocator/block_cache.h"

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;

namespace {

constexpr StreamId kCachedOn{1};

using Cache = BlockCache<int>;

}  // namespace

TEST_CASE("a block serves its size on its stream, the last one first", "[allocator]") {
    Cache cache(ThreadCaches{.budget = 1_MiB});
    cache.put(1, 512, 512, kCachedOn);
    cache.put(2, 512, 768, kCachedOn);
    CHECK(cache.bytes() == 1280);

    CHECK_FALSE(cache.take(256, kCachedOn));
    CHECK_FALSE(cache.take(768, kCachedOn));
    CHECK_FALSE(cache.take(512, StreamId{2}));
    CHECK(cache.take(512, kCachedOn) == 2);
    CHECK(cache.take(512, kCachedOn) == 1);
    CHECK_FALSE(cache.take(512, kCachedOn));
    CHECK(cache.bytes() == 0);
}

TEST_CASE("beyond its budget it gives up what was idle, then the largest", "[allocator]") {
    Cache cache(ThreadCaches{.budget = 1_MiB});
    std::vector<int> given_up;
    REQUIRE_FALSE(cache.put(0, 512, 512, kCachedOn));
    for (int i = 1; i < 4; ++i)
        REQUIRE_FALSE(cache.put(i, 256_KiB, 256_KiB, kCachedOn));
    REQUIRE(cache.put(4, 512_KiB, 512_KiB, kCachedOn));
    cache.give_up(given_up);
    CHECK(given_up == std::vector<int>{4});
    CHECK(cache.bytes() == 768_KiB + 512);

    given_up.clear();
    REQUIRE(cache.take(256_KiB, kCachedOn) == 3);
    REQUIRE_FALSE(cache.put(3, 256_KiB, 256_KiB, kCachedOn));
    cache.give_up(given_up);  // the others were there all the time
    CHECK(given_up == std::vector<int>{0, 1, 2});
}

TEST_CASE("what no request came for goes in time, within the budget too", "[allocator]") {
    Cache cache(ThreadCaches{.budget = 1_MiB});
    std::vector<int> given_up;
    cache.put(-1, 1024, 1024, kCachedOn);
    for (int i = 0; i < 10'000; ++i) {
        if (cache.put(i, 512, 512, kCachedOn))
            cache.give_up(given_up);
        cache.take(512, kCachedOn);
    }
    CHECK(given_up.front() == -1);
    CHECK_FALSE(cache.take(1024, kCachedOn));
}

TEST_CASE("nothing is lost or given twice, whatever comes and goes", "[allocator]") {
    Cache cache(ThreadCaches{.budget = 1_MiB});
    std::vector<char> inside(200'000);
    std::vector<Bytes> sizes(inside.size());
    std::vector<int> given_up;
    Random random(1);
    Bytes bytes = 0;
    for (int i = 0; i < 200'000; ++i) {
        const Bytes size = 256 * (1 + random.below(i % 1000 < 500 ? 4 : 5000));
        if (random.below(2) == 0) {
            const auto taken = cache.take(size, kCachedOn);
            if (taken) {
                REQUIRE(inside[static_cast<std::size_t>(*taken)] == 1);
                REQUIRE(sizes[static_cast<std::size_t>(*taken)] == size);
                inside[static_cast<std::size_t>(*taken)] = 0;
                bytes -= size;
            }
            continue;
        }
        inside[static_cast<std::size_t>(i)] = 1;
        sizes[static_cast<std::size_t>(i)] = size;
        bytes += size;
        if (cache.put(i, size, size, kCachedOn)) {
            given_up.clear();
            cache.give_up(given_up);
            for (const int each : given_up) {
                REQUIRE(inside[static_cast<std::size_t>(each)] == 1);
                inside[static_cast<std::size_t>(each)] = 0;
                bytes -= sizes[static_cast<std::size_t>(each)];
            }
            REQUIRE(cache.bytes() <= 1_MiB);
        }
        REQUIRE(cache.bytes() == bytes);
    }
    given_up.clear();
    cache.empty(given_up);
    CHECK(cache.bytes() == 0);
    for (const int each : given_up)
        inside[static_cast<std::size_t>(each)] = 0;
    CHECK(std::count(inside.begin(), inside.end(), 1) == 0);
}

TEST_CASE("a thread may keep more as the program grows, and no more than its share",
          "[allocator]") {
    CacheBudget fixed(ThreadCaches{.budget = 8_MiB});
    fixed.note(1024_GiB);
    CHECK(fixed.now().budget == 8_MiB);
    CacheBudget growing(ThreadCaches{.budget = 64_MiB, .part = 1024});
    CHECK(growing.now().budget == 1_MiB);
    growing.note(4_GiB);
    CHECK(growing.now().budget == 4_MiB);
    growing.note(1_GiB);
    CHECK(growing.now().budget == 4_MiB);
    growing.note(1024_GiB);
    CHECK(growing.now().budget == 64_MiB);
}
