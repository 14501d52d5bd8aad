// DriverPool: its rules one by one, worked by hand. That they are the driver's is for tests/truth.
#include "core/regions/driver_pool.h"

#include <optional>

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;

namespace {

constexpr Address kBase{0x302000000};
constexpr StreamId kA{1};
constexpr StreamId kB{2};

// A pool whose device has much memory, in offsets from its base.
struct Pool {
    DriverPool pool{{kBase, Bytes{1} << 44}};
    Nanoseconds now = 0;

    Bytes take(Bytes size, StreamId stream = kA) {
        const auto taken = pool.take(size, stream, now, Bytes{1} << 44);
        REQUIRE(taken);
        return taken->address - kBase;
    }

    void give(Bytes offset, StreamId stream = kA) { give_late(offset, stream, now); }

    void give_late(Bytes offset, StreamId stream, Nanoseconds ready) {
        REQUIRE(pool.give(kBase + offset, stream, ready) != 0);
    }
};

}  // namespace

TEST_CASE("the pool grows by chunks, and what is left of one is used last", "[driver_pool]") {
    Pool of;
    CHECK(of.take(1_MiB) == 0);
    CHECK(of.pool.held() == 32_MiB);
    CHECK(of.take(20_MiB) == 1_MiB);
    CHECK(of.take(1_MiB) == 21_MiB);
    of.give(1_MiB);
    of.pool.synchronized(of.now);
    of.pool.set_threshold(~Bytes{0});
    CHECK(of.take(10_MiB) == 1_MiB);  // in the hole of 20, not in what is left: 10
    CHECK(of.take(42_MiB) == 22_MiB);
    CHECK(of.pool.held() == 64_MiB);
}

TEST_CASE("a stream's own frees come first, then the best fit, of equals the oldest",
          "[driver_pool]") {
    Pool of;
    of.pool.set_threshold(~Bytes{0});
    for (Bytes i = 0; i < 7; ++i)
        CHECK(of.take(1_MiB) == i * 1_MiB);
    of.give(4_MiB);
    of.pool.synchronized(of.now);  // common from now on
    of.give(2_MiB);
    of.give(0);
    CHECK(of.take(512) == 2_MiB);
    CHECK(of.take(512) == 2_MiB + 512);  // the smaller one now
    CHECK(of.take(1_MiB) == 0);
    CHECK(of.take(1_MiB) == 4_MiB);
}

TEST_CASE("what waits is not joined with common holes until somebody needs it", "[driver_pool]") {
    Pool of;
    of.pool.set_threshold(~Bytes{0});
    CHECK(of.take(8_MiB) == 0);
    CHECK(of.take(8_MiB) == 8_MiB);
    CHECK(of.take(16_MiB) == 16_MiB);
    of.give(0);
    of.pool.synchronized(of.now);
    of.give(8_MiB);
    CHECK(of.take(1_MiB) == 8_MiB);
    of.give(8_MiB);
    CHECK(of.take(16_MiB) == 0);
    CHECK(of.pool.held() == 32_MiB);
}

TEST_CASE("free chunks are mapped elsewhere before the pool grows", "[driver_pool]") {
    Pool of;
    of.pool.set_threshold(~Bytes{0});
    CHECK(of.take(32_MiB) == 0);
    CHECK(of.take(32_MiB) == 32_MiB);
    CHECK(of.take(32_MiB) == 64_MiB);
    of.give(0);
    const auto taken = of.pool.take(64_MiB, kA, 0, 1_GiB);
    REQUIRE(taken);
    CHECK(taken->address == kBase + 96_MiB);
    CHECK(taken->moved == 32_MiB);
    CHECK(taken->grown == 32_MiB);
    CHECK(of.pool.held() == 128_MiB);
    of.give(32_MiB);
    CHECK(of.take(40_MiB) == 0);  // half of it mapped again
    CHECK(of.pool.held() == 160_MiB);
}

TEST_CASE("another stream gets what the device is done with", "[driver_pool]") {
    Pool of;
    CHECK(of.take(16_MiB, kA) == 0);
    CHECK(of.take(16_MiB, kB) == 16_MiB);
    of.give_late(0, kA, 100);
    CHECK(of.take(16_MiB, kB) == 32_MiB);
    of.now = 100;
    CHECK(of.take(8_MiB, kB) == 0);
    CHECK(of.take(8_MiB, kA) == 8_MiB);  // what was left stayed in the list of its stream
}

TEST_CASE("a synchronization gives back above the threshold, but not if nothing waited",
          "[driver_pool]") {
    Pool of;
    of.pool.set_threshold(32_MiB);
    for (Bytes i = 0; i < 4; ++i)
        CHECK(of.take(32_MiB) == i * 32_MiB);
    of.give(0);
    of.give(64_MiB);
    of.give(32_MiB);
    CHECK(of.pool.synchronized(of.now) == 96_MiB);
    CHECK(of.pool.held() == 32_MiB);

    Pool kept;
    kept.pool.set_threshold(~Bytes{0});
    CHECK(kept.take(32_MiB) == 0);
    CHECK(kept.take(32_MiB) == 32_MiB);
    kept.give(0);
    CHECK(kept.pool.synchronized(kept.now) == 0);
    kept.pool.set_threshold(0);
    CHECK(kept.pool.synchronized(kept.now) == 0);
    CHECK(kept.pool.held() == 64_MiB);
    CHECK(kept.pool.trim(0, kept.now) == 32_MiB);
}

TEST_CASE("a request that the device has no room for changes nothing", "[driver_pool]") {
    Pool of;
    of.pool.set_threshold(~Bytes{0});
    CHECK(of.take(32_MiB) == 0);
    CHECK(of.take(32_MiB) == 32_MiB);
    of.give(0);
    CHECK_FALSE(of.pool.take(96_MiB, kA, 0, 32_MiB));
    CHECK(of.pool.held() == 64_MiB);
    CHECK(of.take(32_MiB) == 0);
    CHECK_FALSE(of.pool.take(512, kA, 0, 0));
    CHECK(of.pool.give(kBase + 1, kA, 0) == 0);
}

TEST_CASE("no two grants overlap, and everything comes back", "[driver_pool]") {
    Random random(7);
    DriverPool pool({kBase, Bytes{1} << 44});
    std::vector<Range> live;
    Nanoseconds now = 0;
    for (int i = 0; i < 4'000; ++i) {
        ++now;
        const StreamId stream{static_cast<std::uint32_t>(random.below(3))};
        if (live.empty() || random.below(2) == 0) {
            const Bytes size = (1 + random.below(Bytes{1} << random.below(17))) * DriverPool::kUnit;
            const auto taken = pool.take(size, stream, now, 1_GiB - std::min(pool.held(), 1_GiB));
            if (!taken)
                continue;
            for (const Range& other : live)
                REQUIRE((taken->address >= other.begin + other.size ||
                         other.begin >= taken->address + size));
            live.push_back({taken->address, size});
        } else {
            const std::size_t which = random.below(live.size());
            CHECK(pool.find(live[which].begin + (live[which].size - 1)) == live[which]);
            REQUIRE(pool.give(live[which].begin, stream, now + 50) == live[which].size);
            live[which] = live.back();
            live.pop_back();
        }
        if (random.below(500) == 0)
            pool.synchronized(now + 50);
        REQUIRE(pool.held() <= 1_GiB);
    }
    for (const Range& rest : live)
        pool.give(rest.begin, kA, now);
    pool.trim(0, now + 50);
    CHECK(pool.held() == 0);
}
