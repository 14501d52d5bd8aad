// The bump arena: every address once, and everything that is asked of it wrongly is told apart.
#include "core/capture/bump_arena.h"

#include <catch2/catch.hpp>

namespace tidemark {
namespace {

constexpr Address kBase{0x100000000};

Address must_allocate(BumpArena& arena, Bytes size, Bytes alignment = 1) {
    const auto address = arena.allocate(size, alignment);
    REQUIRE(address);
    return *address;
}

TEST_CASE("an arena moves up and never back") {
    BumpArena arena(kBase, 4096);
    CHECK(must_allocate(arena, 100) == kBase);
    CHECK(arena.high_water() == 256);
    const Address second = must_allocate(arena, 512);
    CHECK(second == kBase + 256);
    CHECK(arena.high_water() == 768);

    CHECK(arena.deallocate(second) == BumpArena::Freed::freed);
    CHECK(arena.high_water() == 768);

    const Address third = must_allocate(arena, 256);
    CHECK(third == kBase + 768);
    CHECK(arena.high_water() == 1024);
    CHECK(arena.deallocate(kBase) == BumpArena::Freed::freed);
    CHECK(arena.high_water() == 1024);
    CHECK(arena.deallocate(third) == BumpArena::Freed::freed);
    CHECK(arena.high_water() == 1024);

    CHECK(must_allocate(arena, 3072) == kBase + 1024);
    CHECK_FALSE(arena.allocate(1));
}

TEST_CASE("a refusal is one by a limit, and changes nothing") {
    BumpArena arena(kBase, 1024);
    must_allocate(arena, 512);
    const auto full = arena.allocate(4096);
    REQUIRE_FALSE(full);
    CHECK(full.error().cause == OutOfMemory::Cause::limit);
    CHECK(arena.high_water() == 512);
    CHECK(must_allocate(arena, 512) == kBase + 512);
}

TEST_CASE("no bytes take a unit, and an arena of no bytes refuses even those") {
    BumpArena arena(kBase, 512);
    CHECK(must_allocate(arena, 0) == kBase);
    CHECK(must_allocate(arena, 0) == kBase + 256);

    CHECK_FALSE(BumpArena().allocate(0));
}

TEST_CASE("double frees, unknown addresses and foreign ones are told apart and change nothing") {
    BumpArena arena(kBase, 4096);
    const Address first = must_allocate(arena, 512);
    CHECK(arena.deallocate(first + 256) == BumpArena::Freed::unknown);
    CHECK(arena.deallocate(first + 1) == BumpArena::Freed::unknown);
    CHECK(arena.deallocate(first + 512) == BumpArena::Freed::unknown);
    CHECK(arena.deallocate(kBase + 4096) == BumpArena::Freed::outside);
    CHECK(arena.deallocate(Address{1}) == BumpArena::Freed::outside);
    CHECK(arena.deallocate(first) == BumpArena::Freed::freed);
    CHECK(arena.deallocate(first) == BumpArena::Freed::double_free);
}

TEST_CASE("a base that is not aligned costs its padding, and no allocation is misaligned") {
    BumpArena arena(Address{1000}, 1024);
    const Address first = must_allocate(arena, 10);
    CHECK(first == Address{1024});
    CHECK(arena.high_water() == 24 + 256);
    CHECK(must_allocate(arena, 300) == Address{1280});
    CHECK_FALSE(arena.allocate(256));  // 1792 + 256 is past 2024
    CHECK(arena.deallocate(first) == BumpArena::Freed::freed);
}

TEST_CASE("an alignment beyond a unit is kept, whatever the base") {
    BumpArena arena(Address{4096 + 256}, 64_KiB);
    must_allocate(arena, 1);
    CHECK(must_allocate(arena, 1, 4096) == Address{8192});
    CHECK(must_allocate(arena, 1) == Address{8192 + 256});
}

TEST_CASE("sizes near the end of numbers are refused, not wrapped") {
    BumpArena arena(Address{256}, ~Bytes{0});
    for (const Bytes size :
         {~Bytes{0}, ~Bytes{0} - 255, ~Bytes{0} - 256, Bytes{1} << 63, kLargestRequest}) {
        CAPTURE(size);
        CHECK_FALSE(arena.allocate(size));
    }
    CHECK(arena.high_water() == 0);
    CHECK(must_allocate(arena, kLargestRequest - 1) == Address{256});
    CHECK_FALSE(arena.allocate(kLargestRequest - 1));  // never reached by a device

    BumpArena high(Address{~std::uint64_t{0} - 300}, 4096);
    CHECK_FALSE(high.allocate(256));
}

TEST_CASE("what a request needs is known before, and parts can be left out") {
    BumpArena arena(kBase, 2048);
    const Address first = must_allocate(arena, 256);
    CHECK(arena.needed_for(1000) == 256 + 1024);
    CHECK(must_allocate(arena, 1000) == kBase + 256);
    CHECK(arena.deallocate(first) == BumpArena::Freed::freed);
    arena.skip_to(1792);
    CHECK(must_allocate(arena, 1) == kBase + 1792);
}

}  // namespace
}  // namespace tidemark
