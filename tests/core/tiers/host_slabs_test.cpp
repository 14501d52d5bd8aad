// HostSlabs: five sizes of small pinned memory.
#include "core/tiers/host_slabs.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/core/tiers/failing_source.h"

namespace tidemark {
namespace {

// The setting of A-T10: blocks of 64 KiB, 16 a pool, one pool at first, 16 MiB.
struct Slabs {
    Slabs() {
        auto made_blocks = HostBlocks::create(
            source,
            {.block = 64_KiB, .blocks_per_pool = 16, .initial_pools = 1, .capacity = 16_MiB});
        REQUIRE(made_blocks);
        blocks = std::move(*made_blocks);
        auto made = HostSlabs::create(*blocks);
        REQUIRE(made);
        slabs = std::move(*made);
    }

    HostSlab take(Bytes size) {
        const BlockResult<HostSlab> slab = slabs->allocate(size);
        REQUIRE(slab);
        REQUIRE(slab->size >= size);
        REQUIRE(slab->begin != Address::null);
        REQUIRE(to_integer(slab->begin) % PinnedSource::kAlignment == 0);
        std::memset(pointer_of(slab->begin), 0x7e, slab->size);
        return *slab;
    }

    std::vector<HostSlab> take(std::size_t count, Bytes size) {
        std::vector<HostSlab> taken;
        for (std::size_t i = 0; i < count; ++i)
            taken.push_back(take(size));
        return taken;
    }

    void free(const std::vector<HostSlab>& taken) {
        for (const HostSlab& slab : taken)
            slabs->free(slab);
    }

    FailingSource source;
    std::unique_ptr<HostBlocks> blocks;
    std::unique_ptr<HostSlabs> slabs;
};

// Whether no two overlap.
bool apart(std::vector<HostSlab> slabs) {
    std::sort(slabs.begin(), slabs.end(),
              [](const HostSlab& a, const HostSlab& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < slabs.size(); ++i) {
        if (slabs[i - 1].begin + slabs[i - 1].size > slabs[i].begin)
            return false;
    }
    return true;
}

}  // namespace

TEST_CASE("no bytes are no slab, and giving that back is nothing (A-T10)", "[tiers][host_slabs]") {
    Slabs s;
    const BlockResult<HostSlab> none = s.slabs->allocate(0);
    REQUIRE(none);
    CHECK(*none == HostSlab{});
    s.slabs->free(*none);
    s.slabs->free(HostSlab{});
    CHECK(s.slabs->usage().used == 0);
    CHECK(s.slabs->usage().blocks == 0);
}

TEST_CASE("requests are rounded up to their class (A-T10)", "[tiers][host_slabs]") {
    Slabs s;
    const std::pair<Bytes, Bytes> sizes[] = {
        {1, 512},     {511, 512},   {512, 512},   {513, 1024},  {1024, 1024}, {1025, 2048},
        {2048, 2048}, {2049, 4096}, {4096, 4096}, {4097, 8192}, {8192, 8192}, {8193, 8256}};
    for (const auto& [asked, given] : sizes) {
        const HostSlab slab = s.take(asked);
        CHECK(slab.size == given);
        CHECK(s.slabs->usage().used_bytes == given);
        s.slabs->free(slab);
    }
    CHECK(s.slabs->usage().blocks == HostSlabs::kClasses);
    CHECK(s.blocks->usage().used == HostSlabs::kClasses);
}

TEST_CASE("many slabs, more than a block has, are all apart (A-T10)", "[tiers][host_slabs]") {
    Slabs s;
    const std::vector<HostSlab> some = s.take(64, 700);
    CHECK(apart(some));
    const std::vector<HostSlab> many = s.take(256, 512);  // 128 a block
    CHECK(apart(many));
    CHECK(s.slabs->usage().blocks == 1 + 2);
    CHECK(s.slabs->usage().used == 320);
    std::vector<HostSlab> all = some;
    all.insert(all.end(), many.begin(), many.end());
    CHECK(apart(all));
    s.free(all);
}

TEST_CASE("the slab given back last is handed out next, in each class by itself (A-T10)",
          "[tiers][host_slabs]") {
    Slabs s;
    const std::vector<HostSlab> taken = s.take(3, 1024);
    const HostSlab other = s.take(2048);
    s.slabs->free(taken[1]);
    s.slabs->free(other);
    CHECK(s.take(900) == taken[1]);
    CHECK(s.take(2000) == other);
    s.slabs->free(taken[0]);
    s.slabs->free(taken[2]);
    CHECK(s.take(1024) == taken[2]);
    CHECK(s.take(1024) == taken[0]);
    s.free(taken);
    s.slabs->free(other);
}

TEST_CASE("larger pieces come from the source and disturb no slab (A-T10)", "[tiers][host_slabs]") {
    Slabs s;
    const HostSlab slab = s.take(8192);
    const HostSlabsUsage before = s.slabs->usage();
    const Bytes pinned = s.source.bytes();
    const HostSlab large = s.take(16_KiB);
    const HostSlab odd = s.take(100'001);
    CHECK(large.size == 16_KiB);
    CHECK(odd.size == 100'032);
    CHECK(apart({slab, large, odd}));
    CHECK(s.slabs->usage().blocks == before.blocks);
    CHECK(s.slabs->usage().large_bytes == 16_KiB + 100'032);
    CHECK(s.source.bytes() == pinned + 16_KiB + 100'032);
    s.slabs->free(large);
    s.slabs->free(odd);
    CHECK(s.source.bytes() == pinned);
    CHECK(s.slabs->usage().used == 1);
    CHECK(s.slabs->allocate(17_MiB).error() == BlockRefusal::capacity);
    CHECK(s.slabs->allocate(~Bytes{0}).error() == BlockRefusal::capacity);
    s.slabs->free(slab);
}

TEST_CASE("two owners of slabs keep theirs apart: a slab is its owner's (A-T10)",
          "[tiers][host_slabs]") {
    Slabs a;
    const auto second = HostSlabs::create(*a.blocks);
    REQUIRE(second);
    const std::vector<HostSlab> mine = a.take(200, 512);
    std::vector<HostSlab> all = mine;
    for (int i = 0; i < 200; ++i)
        all.push_back(*(*second)->allocate(512));
    CHECK(apart(all));
    CHECK(a.slabs->usage().used == 200);
    CHECK((*second)->usage().used == 200);
    a.free(mine);
    for (std::size_t i = 200; i < 400; ++i)
        (*second)->free(all[i]);
    CHECK((*second)->usage().used == 0);
}

TEST_CASE("mixed sizes are given back in reverse, and eight threads' slabs are apart (A-T10)",
          "[tiers][host_slabs]") {
    Slabs s;
    std::vector<HostSlab> mixed;
    for (const Bytes size : {300U, 5000U, 1024U, 20000U, 512U, 8192U, 2049U, 1U})
        mixed.push_back(s.take(size));
    CHECK(apart(mixed));
    std::reverse(mixed.begin(), mixed.end());
    s.free(mixed);
    CHECK(s.slabs->usage().used == 0);

    std::vector<std::vector<HostSlab>> taken(8);
    std::vector<std::thread> threads;
    for (std::vector<HostSlab>& mine : taken) {
        threads.emplace_back([&] {
            for (int i = 0; i < 32; ++i)
                mine.push_back(s.slabs->allocate(2048).value_or(HostSlab{}));
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    std::vector<HostSlab> all;
    for (const std::vector<HostSlab>& mine : taken)
        all.insert(all.end(), mine.begin(), mine.end());
    CHECK(all.size() == 256);
    CHECK(apart(all));
    CHECK(std::none_of(all.begin(), all.end(),
                       [](const HostSlab& slab) { return slab.begin == Address::null; }));
    CHECK(s.slabs->usage().blocks <= 5 + 8);  // 32 a block: eight blocks, no more
    s.free(all);
}

TEST_CASE("blocks that are smaller than a slab are an error when the slabs are made",
          "[tiers][host_slabs]") {
    FailingSource source;
    const auto blocks = HostBlocks::create(source, {.block = 4_KiB, .capacity = 1_MiB});
    REQUIRE(blocks);
    const auto slabs = HostSlabs::create(**blocks);
    REQUIRE_FALSE(slabs);
    CHECK(slabs.error().code == ErrorCode::bad_option);
    const auto exact =
        HostBlocks::create(source, {.block = 8_KiB, .blocks_per_pool = 1, .capacity = 1_MiB});
    REQUIRE(exact);
    const auto single = HostSlabs::create(**exact);
    REQUIRE(single);
    const HostSlab slab = *(*single)->allocate(8192);
    (*single)->free(slab);
}

TEST_CASE("trim gives back blocks of which no slab is in use", "[tiers][host_slabs]") {
    Slabs s;
    std::vector<HostSlab> taken = s.take(40, 4096);  // 16 a block: three blocks
    const HostSlab other = s.take(512);
    CHECK(s.slabs->trim() == 0);
    s.slabs->free(taken.back());  // of the third block
    for (std::size_t i = 16; i < 32; ++i)
        s.slabs->free(taken[i]);  // the second
    CHECK(s.slabs->trim() == 1);
    CHECK(s.blocks->usage().used == 3);
    CHECK(s.slabs->usage().blocks == 3);
    const std::vector<HostSlab> more = s.take(20, 4096);  // 9 of the third block, 11 of a new one
    CHECK(s.slabs->usage().blocks == 4);
    std::vector<HostSlab> live(taken.begin(), taken.begin() + 16);
    live.insert(live.end(), taken.begin() + 32, taken.end() - 1);
    live.insert(live.end(), more.begin(), more.end());
    live.push_back(other);
    CHECK(apart(live));
    s.free(live);
    CHECK(s.slabs->trim() == 4);
    CHECK(s.blocks->usage().used == 0);
    CHECK(s.blocks->trim() == 1_MiB);
    CHECK(s.source.pieces() == 0);
}

TEST_CASE("pinning that fails refuses a slab and changes nothing", "[tiers][host_slabs]") {
    Slabs s;
    auto rest = s.blocks->allocate(16 * 64_KiB);
    REQUIRE(rest);
    s.source.fail_from(1);
    CHECK(s.slabs->allocate(100).error() == BlockRefusal::source);
    CHECK(s.slabs->allocate(100'000).error() == BlockRefusal::source);
    CHECK(s.slabs->usage().used == 0);
    CHECK(s.slabs->usage().blocks == 0);
    rest->clear();
    s.slabs->free(s.take(100));
}

TEST_CASE("threads that find a class empty do not each take a block for it",
          "[tiers][host_slabs]") {
    Slabs s;
    auto rest = s.blocks->allocate(16 * 64_KiB);
    REQUIRE(rest);
    s.source.close();
    std::vector<HostSlab> taken(4);
    std::vector<std::thread> threads;
    for (HostSlab& slab : taken)
        threads.emplace_back([&] { slab = s.slabs->allocate(512).value_or(HostSlab{}); });
    s.source.await_caller();
    s.slabs->free(HostSlab{});  // others go on
    CHECK(s.slabs->usage().used == 0);
    s.source.open();
    for (std::thread& thread : threads)
        thread.join();
    CHECK(s.slabs->usage().blocks == 1);
    CHECK(s.slabs->usage().used == 4);
    CHECK(apart(taken));
    s.free(taken);
}

TEST_CASE("random slabs of many threads are nobody else's, and all come back",
          "[tiers][host_slabs]") {
    Slabs s;
    std::atomic<int> shared = 0;
    std::vector<std::thread> threads;
    for (std::uint64_t number = 1; number <= 4; ++number) {
        threads.emplace_back([&, number] {
            Random random(number);
            std::vector<HostSlab> mine;
            const auto mark = static_cast<std::byte>(number);
            for (int i = 0; i < 4000; ++i) {
                if (mine.size() < 40 && random.below(5) < 3) {
                    const auto slab = s.slabs->allocate(1 + random.below(9000));
                    if (!slab)
                        continue;
                    *pointer_of(slab->begin) = mark;
                    *pointer_of(slab->begin + (slab->size - 1)) = mark;
                    mine.push_back(*slab);
                } else if (!mine.empty()) {
                    std::swap(mine.back(), mine[random.below(mine.size())]);
                    const HostSlab slab = mine.back();
                    shared += *pointer_of(slab.begin) != mark ||
                              *pointer_of(slab.begin + (slab.size - 1)) != mark;
                    s.slabs->free(slab);
                    mine.pop_back();
                }
                if (random.below(200) == 0)
                    s.slabs->trim();
            }
            s.free(mine);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(shared == 0);
    CHECK(s.slabs->usage().used == 0);
    CHECK(s.slabs->usage().used_bytes == 0);
    s.slabs->trim();
    CHECK(s.blocks->usage().used == 0);
    CHECK(s.blocks->usage().apart == 0);
    CHECK_FALSE(s.source.misused());
}

}  // namespace tidemark
