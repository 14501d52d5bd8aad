// extent: what it promises beyond what every policy does. Free parts of handles serve a request in
// one range; nothing is asked of the driver where a free block fits; bytes are granted once, also
// where handles are mapped twice.
#include <algorithm>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/wrap/touching.h"
#include "core/base/random.h"
#include "tests/support/device.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

using support::calls;
using support::kA;
using support::kB;
using support::kC;
using support::make_policy;
using support::must_allocate;
using support::small_device;

// Pieces of 8 MiB, no slack: what is free must be stitched.
constexpr std::string_view kTight = "extent:slack=0,handle=8MiB,worth=1,patience=1000000";

// Four pieces of 8 MiB, each with 6 MiB that are live and 2 MiB that are free at its end or, of the
// odd ones, at its beginning.
struct Fragmented {
    Fragmented() {
        std::vector<Allocation> parts;
        for (int i = 0; i < 4; ++i) {
            const bool odd = i % 2 != 0;
            parts.push_back(must_allocate(*pool, odd ? 2_MiB : 6_MiB));
            parts.push_back(must_allocate(*pool, odd ? 6_MiB : 2_MiB));
        }
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (parts[i].size == 2_MiB)
                pool->deallocate(parts[i], StreamId::default_stream);
            else
                live.push_back(parts[i]);
        }
    }

    SimDevice device{small_device(256_MiB)};
    std::unique_ptr<Allocator> pool = make_policy(kTight, device);
    std::vector<Allocation> live;
};

TEST_CASE("a request that fits a free block costs no driver call", "[extent]") {
    SimDevice device(small_device(256_MiB));
    const auto pool = make_policy("extent", device);
    const Allocation first = must_allocate(*pool, 10_MiB);
    pool->deallocate(first, StreamId::default_stream);
    const std::uint64_t before = device.counters().total_calls();

    const Allocation again = must_allocate(*pool, 8_MiB);
    must_allocate(*pool, 1000);

    CHECK(again.address == first.address);
    CHECK(device.counters().total_calls() == before);
}

TEST_CASE("a program that rises by small requests doesn't pay for each of them", "[extent]") {
    SimDevice device(small_device(256_MiB));
    const auto pool = make_policy(kTight, device);
    for (int i = 0; i < 200; ++i)
        must_allocate(*pool, 1_MiB);

    CHECK(calls(device, DeviceCall::create) < 50);
    CHECK(pool->usage().reserved <= 210_MiB);
}

TEST_CASE("growth in steps stops at the limit and at the device's last bytes", "[extent]") {
    SimDevice device(small_device(64_MiB));
    const bool limited = GENERATE(true, false);
    const auto pool =
        make_policy(limited ? "extent:limit=64MiB,slack=0" : "extent:slack=0", device);
    must_allocate(*pool, 60_MiB);
    must_allocate(*pool, 2_MiB);
    must_allocate(*pool, 2_MiB);

    CHECK(pool->usage().reserved == 64_MiB);
}

TEST_CASE("a refused request gives back what it took of the device", "[extent]") {
    SimDevice device(small_device(64_MiB));
    const auto pool = make_policy("extent:handle=8MiB", device);
    const Allocation kept = must_allocate(*pool, 10_MiB);
    const Bytes reserved = pool->usage().reserved;

    CHECK_FALSE(pool->allocate({.size = 200_MiB}));
    CHECK(pool->usage().reserved == reserved);
    CHECK(device.memory().free == 64_MiB - reserved);

    pool->deallocate(kept, StreamId::default_stream);
    must_allocate(*pool, 64_MiB);
    CHECK(pool->usage().reserved == 64_MiB);
}

TEST_CASE("free ends of pieces serve a request together, without new memory", "[extent]") {
    Fragmented state;
    const Bytes reserved = state.pool->usage().reserved;
    const std::uint64_t unmaps = calls(state.device, DeviceCall::unmap);

    // The free end of one piece and the free beginning of another.
    const Allocation stitched = must_allocate(*state.pool, 4_MiB);

    CHECK(stitched.size == 4_MiB);
    CHECK(state.pool->usage().reserved == reserved);
    CHECK(calls(state.device, DeviceCall::unmap) == unmaps);
    CHECK(calls(state.device, DeviceCall::synchronize_device) == 0);
}

TEST_CASE("what was stitched is found again when it is free again", "[extent]") {
    Fragmented state;
    const Allocation first = must_allocate(*state.pool, 4_MiB);
    state.pool->deallocate(first, StreamId::default_stream);
    const std::uint64_t maps = calls(state.device, DeviceCall::map);

    const Allocation second = must_allocate(*state.pool, 4_MiB);

    CHECK(second.address == first.address);
    CHECK(calls(state.device, DeviceCall::map) == maps);
}

TEST_CASE("what another stream used last is waited for, without the host", "[extent]") {
    Fragmented state;
    const Allocation first = must_allocate(*state.pool, 4_MiB, kA);
    state.pool->deallocate(first, kA);

    must_allocate(*state.pool, 4_MiB, kB);

    CHECK(calls(state.device, DeviceCall::wait) > 0);
    CHECK(calls(state.device, DeviceCall::synchronize_device) == 0);
}

TEST_CASE("a stream waits once for what was let go before, and again for what comes", "[extent]") {
    SimDevice device(small_device(256_MiB));
    const auto pool = make_policy("extent", device);
    const auto waits = [&] { return calls(device, DeviceCall::wait); };
    std::vector<Allocation> parts;
    for (int i = 0; i < 3; ++i)
        parts.push_back(must_allocate(*pool, 4_MiB, kA));
    const Allocation apart = must_allocate(*pool, 4_MiB, kA);  // they don't join
    pool->deallocate(parts[0], kA);
    pool->deallocate(parts[2], kA);
    const Allocation first = must_allocate(*pool, 4_MiB, kB);
    const Allocation second = must_allocate(*pool, 2_MiB, kB);
    must_allocate(*pool, 2_MiB, kB);  // the rest of a block that was cut
    CHECK(waits() == 1);
    pool->deallocate(parts[1], kA);
    must_allocate(*pool, 4_MiB, kB);
    CHECK(waits() == 2);
    // What B lets go again is B's, whatever A did before.
    pool->deallocate(second, kB);
    must_allocate(*pool, 2_MiB, kC);
    CHECK(waits() == 3);
    pool->deallocate(first, kB);
    pool->deallocate(apart, kA);
}

// The stream that a slab was made for is behind those who used its memory; others are not.
TEST_CASE("what is cut off a slab is for the streams that are behind its first", "[extent]") {
    SimDevice device(small_device(256_MiB));
    const auto pool = make_policy("extent:slack=0", device);
    const Allocation large = must_allocate(*pool, 2_MiB, kA);
    const Allocation kept = must_allocate(*pool, 10_MiB, kA);
    pool->deallocate(large, kA);
    const Allocation small = must_allocate(*pool, 1_KiB, kB);
    REQUIRE(small.address == large.address);
    CHECK(calls(device, DeviceCall::wait) == 1);
    const Allocation other = must_allocate(*pool, 1_KiB, kC);
    REQUIRE(other.address == small.address + 1_KiB);
    CHECK(calls(device, DeviceCall::wait) == 2);
    pool->deallocate(kept, kA);
}

// Writes every grant and looks at it when it is freed, so that a byte that two of them share is
// found, whatever addresses it has.
TEST_CASE("no byte is granted twice, on random programs that fragment", "[extent]") {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        SimDevice device(small_device(512_MiB));
        TouchingAllocator pool(make_policy("extent:slack=0.02,handle=16MiB,mappings=8", device),
                               device);
        Random random(seed);
        std::vector<Allocation> live;
        for (int i = 0; i < 2000; ++i) {
            const StreamId stream{static_cast<std::uint32_t>(random.below(3))};
            if (live.empty() || random.below(5) < 3) {
                const Bytes size = Bytes{1} << random.below(25);
                if (const auto granted = pool.allocate({.size = size, .stream = stream}))
                    live.push_back(*granted);
            } else {
                std::swap(live[random.below(live.size())], live.back());
                pool.deallocate(live.back(), stream);
                live.pop_back();
            }
            if (i % 500 == 499)
                pool.trim(i % 1000 == 999 ? TrimLevel::all : TrimLevel::unused);
        }
        pool.check_live();
        CHECK(pool.report().clean());
        for (const Allocation& each : live)
            pool.deallocate(each, StreamId::default_stream);
        pool.trim(TrimLevel::all);
        CHECK(pool.usage().reserved == 0);
    }
}

TEST_CASE("reserved memory stays within the slack as long as stitching can", "[extent]") {
    SimDevice device(small_device(1_GiB));
    const auto pool = make_policy("extent:slack=0.1,handle=8MiB", device);
    std::vector<Allocation> live;
    Random random(5);
    Bytes peak = 0;
    for (int i = 0; i < 400; ++i) {
        if (live.size() < 20 || random.below(2) == 0)
            live.push_back(must_allocate(*pool, (1 + random.below(12)) * 1_MiB));
        else {
            std::swap(live[random.below(live.size())], live.back());
            pool->deallocate(live.back(), StreamId::default_stream);
            live.pop_back();
        }
        peak = std::max(peak, pool->usage().active);
    }

    CHECK(static_cast<double>(pool->usage().reserved) < 1.2 * static_cast<double>(peak));
}

TEST_CASE("what is expected is taken in few pieces, and no sooner than it is needed", "[extent]") {
    SimDevice device(small_device(1_GiB));
    const auto pool = make_policy("extent:expect=640MiB", device);
    must_allocate(*pool, 1_MiB);
    CHECK(pool->usage().reserved <= 20_MiB);
    for (int i = 1; i < 300; ++i)
        must_allocate(*pool, 1_MiB);
    CHECK(pool->usage().reserved <= 320_MiB);
    for (int i = 300; i < 600; ++i)
        must_allocate(*pool, 1_MiB);

    CHECK(calls(device, DeviceCall::create) <= 32);
    CHECK(pool->usage().reserved <= 640_MiB);
}

TEST_CASE("nothing is stitched below what is expected, and slack is for what is beyond",
          "[extent]") {
    // Free parts of 8 MiB that lie apart, of 256 MiB.
    const auto stitched = [](std::string_view spec) {
        SimDevice device(small_device(1_GiB));
        const auto pool = make_policy(spec, device);
        std::vector<Allocation> live;
        for (int i = 0; i < 32; ++i)
            live.push_back(must_allocate(*pool, 8_MiB));
        for (std::size_t i = 0; i < live.size(); i += 2)
            pool->deallocate(live[i], StreamId::default_stream);
        for (int i = 0; i < 4; ++i)
            must_allocate(*pool, 16_MiB);
        return std::pair(calls(device, DeviceCall::map) - calls(device, DeviceCall::create),
                         pool->usage().reserved);
    };
    CHECK(stitched("extent:expect=512MiB").first == 0);
    const auto [rows, reserved] = stitched("extent:expect=256MiB");
    CHECK(rows > 0);
    CHECK(reserved <= 264_MiB);
}

TEST_CASE("after its cache was emptied a smaller program reserves what it needs", "[extent]") {
    SimDevice device(small_device(1_GiB));
    const auto pool = make_policy("extent:slack=0.1,handle=8MiB", device);
    const Allocation once = must_allocate(*pool, 800_MiB);
    pool->deallocate(once, StreamId::default_stream);
    pool->trim(TrimLevel::all);

    // The free parts of 4 MiB lie apart: a request for more has to be stitched, or to grow.
    std::vector<Allocation> live;
    for (int i = 0; i < 40; ++i)
        live.push_back(must_allocate(*pool, 4_MiB));
    for (std::size_t i = 0; i < live.size(); i += 2)
        pool->deallocate(live[i], StreamId::default_stream);
    for (int i = 0; i < 5; ++i)
        must_allocate(*pool, 16_MiB);

    CHECK(pool->usage().reserved < 220_MiB);
}

}  // namespace
}  // namespace tidemark
