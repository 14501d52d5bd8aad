// Where plain memory is put: alignment, reuse, no overlap, and odd addresses.
#include "backends/sim/plain_memory.h"

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;

namespace {

constexpr Address kMemoryBegin{0x302000000};

Bytes random_size(Random& random, unsigned bits) {
    return align_up(1 + random.below(Bytes{1} << (1 + random.below(bits))), PlainMemory::kUnit);
}

}  // namespace

TEST_CASE("the first address is where the memory begins") {
    PlainMemory memory(kMemoryBegin, 1_GiB);
    CHECK(memory.take(512) == kMemoryBegin);
    CHECK(memory.take(512) == kMemoryBegin + 512);
}

TEST_CASE("addresses are aligned to the size up to 2 MiB, and larger ones to 2 MiB") {
    PlainMemory memory(kMemoryBegin, 8_GiB);
    for (const Bytes size : {512_KiB, 1_MiB + 512, 2_MiB, 3_MiB, 100_MiB, 4_GiB}) {
        memory.take(size);
        const Address second = memory.take(size);
        CHECK(to_integer(second) % std::min<Bytes>(2_MiB, std::bit_ceil(size)) == 0);
    }
}

TEST_CASE("what was given back last is taken first") {
    PlainMemory memory(kMemoryBegin, 1_GiB);
    const Address a = memory.take(1024);
    const Address b = memory.take(1024);
    CHECK(memory.give(a) == 1024);
    CHECK(memory.give(b) == 1024);
    CHECK(memory.take(1024) == b);
    CHECK(memory.take(1024) == a);
}

TEST_CASE("only live beginnings can be given back, once") {
    PlainMemory memory(kMemoryBegin, 1_GiB);
    const Address a = memory.take(1536);
    CHECK(memory.give(a + 512) == 0);
    CHECK(memory.give(a + 2048) == 0);
    CHECK(memory.give(Address::null) == 0);
    CHECK(memory.give(Address{~std::uint64_t{0}}) == 0);
    CHECK(memory.give(memory.span().begin + memory.span().size) == 0);
    CHECK(memory.give(a) == 1536);
    CHECK(memory.give(a) == 0);
}

TEST_CASE("what lives around an address is found, up to its last byte") {
    PlainMemory memory(kMemoryBegin, 1_GiB);
    const Address a = memory.take(1536);
    const Range range{a, 1536};
    CHECK(memory.find(a) == range);
    CHECK(memory.find(a + 1535) == range);
    CHECK(memory.find(a + 1536).size == 0);
    CHECK(memory.find(Address{1}).size == 0);
    memory.give(a);
    CHECK(memory.find(a).size == 0);
}

TEST_CASE("live ranges never overlap and stay within the span") {
    const Bytes capacity = GENERATE(as<Bytes>{}, 512, 513, 1_MiB, 1_MiB + 1, 3_GiB, Bytes{1} << 46);
    PlainMemory memory(kMemoryBegin, capacity);
    Random random(capacity);
    std::vector<Range> live;
    Bytes used = 0;
    for (int step = 0; step < 3000; ++step) {
        const Bytes size = random_size(random, 40);
        if (size <= capacity - used && random.below(5) < 3) {
            live.push_back({memory.take(size), size});
            used += size;
        } else if (!live.empty()) {
            std::swap(live[random.below(live.size())], live.back());
            REQUIRE(memory.give(live.back().begin) == live.back().size);
            used -= live.back().size;
            live.pop_back();
        }
    }
    std::ranges::sort(live, {}, &Range::begin);
    Address end = memory.span().begin;
    for (const Range& range : live) {
        REQUIRE(range.begin >= end);
        REQUIRE(memory.find(range.begin + (range.size - 1)) == range);
        end = range.begin + range.size;
    }
    CHECK(end - memory.span().begin <= memory.span().size);
}
