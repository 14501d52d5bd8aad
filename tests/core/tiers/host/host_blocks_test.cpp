// HostBlocks and BlockRun: nothing is handed out twice, nothing is lost when pinning fails, and
// nobody waits for another's pinning who needs none.
#include "core/tiers/host/host_blocks.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/core/tiers/failing_source.h"

namespace tidemark {
namespace {

constexpr Bytes kSmallBlock = 4_KiB;

std::unique_ptr<HostBlocks> make(PinnedSource& source, std::uint32_t per_pool,
                                 std::uint32_t initial, std::uint64_t capacity_blocks) {
    auto blocks = HostBlocks::create(source, {.block = kSmallBlock,
                                              .blocks_per_pool = per_pool,
                                              .initial_pools = initial,
                                              .capacity = capacity_blocks * kSmallBlock});
    REQUIRE(blocks);
    return std::move(*blocks);
}

BlockRun take(HostBlocks& blocks, std::uint64_t count) {
    BlockResult<BlockRun> run = blocks.allocate(count * kSmallBlock);
    REQUIRE(run);
    REQUIRE(run->blocks() == count);
    return std::move(*run);
}

// What must hold between any two operations.
void check_whole(const HostBlocks& blocks, const FailingSource& source) {
    const HostBlocksUsage usage = blocks.usage();
    CHECK((usage.used + usage.free) * kSmallBlock == source.bytes());
    CHECK(usage.pools == source.pieces());
    CHECK(usage.used + usage.free <= blocks.capacity_blocks());
    CHECK_FALSE(source.misused());
}

}  // namespace

TEST_CASE("blocks and pools need sizes, and blocks are whole cache lines", "[tiers][host_blocks]") {
    FailingSource source;
    const auto code = [&](const HostBlocksSpec& spec) {
        const auto made = HostBlocks::create(source, spec);
        return made ? 0 : static_cast<int>(made.error().code) + 1;
    };
    const int bad = static_cast<int>(ErrorCode::bad_option) + 1;
    CHECK(code({.block = 0, .capacity = 1_MiB}) == bad);
    CHECK(code({.blocks_per_pool = 0, .capacity = 1_MiB}) == bad);
    CHECK(code({.block = ~Bytes{0}, .capacity = 1_MiB}) == bad);
    CHECK(code({.block = kLargestRequest / 2, .blocks_per_pool = 4, .capacity = 1_MiB}) == bad);
    CHECK(source.calls() == 0);
    const auto odd = HostBlocks::create(
        source, {.block = 1000, .blocks_per_pool = 3, .initial_pools = 1, .capacity = 10'000});
    REQUIRE(odd);
    CHECK((*odd)->block_size() == 1024);
    CHECK((*odd)->capacity_blocks() == 9);
    CHECK(source.bytes() == 3 * 1024);
}

TEST_CASE("initial pools stay within the capacity", "[tiers][host_blocks]") {
    FailingSource source;
    SECTION("the last one is smaller") {
        const auto blocks = make(source, 4, 3, 10);
        CHECK(blocks->usage().free == 10);
        CHECK(blocks->usage().pools == 3);
        CHECK(source.bytes() == 10 * kSmallBlock);
        const BlockRun all = take(*blocks, 10);
        CHECK(blocks->allocate(1).error() == BlockRefusal::capacity);
    }
    SECTION("none without capacity") {
        const auto blocks = make(source, 4, 3, 0);
        CHECK(source.calls() == 0);
        CHECK(blocks->allocate(1).error() == BlockRefusal::capacity);
        CHECK(blocks->allocate(0)->blocks() == 0);
    }
    SECTION("if one is refused, the others go back") {
        source.fail_from(3);
        const auto made = HostBlocks::create(
            source,
            {.block = kSmallBlock, .blocks_per_pool = 4, .initial_pools = 4, .capacity = 1_MiB});
        REQUIRE_FALSE(made);
        CHECK(made.error().where == "failing source");
        CHECK(source.calls() == 3);
    }
    CHECK(source.pieces() == 0);
    CHECK_FALSE(source.misused());
}

TEST_CASE("a run has as many blocks as its bytes need, apart from each other, and knows its bounds",
          "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 4, 1, 32);
    CHECK(blocks->blocks_for(0) == 0);
    CHECK(blocks->blocks_for(1) == 1);
    CHECK(blocks->blocks_for(kSmallBlock) == 1);
    CHECK(blocks->blocks_for(kSmallBlock + 1) == 2);
    CHECK(blocks->blocks_for(~Bytes{0}) == (Bytes{1} << 52));

    BlockResult<BlockRun> run = blocks->allocate(9 * kSmallBlock + 1);
    REQUIRE(run);
    CHECK(run->blocks() == 10);
    CHECK(run->size() == 10 * kSmallBlock);
    CHECK(run->block_size() == kSmallBlock);
    std::set<Bytes> begins;
    for (std::size_t i = 0; i < run->blocks(); ++i) {
        const Range block = run->block(i);
        CHECK(block.size == kSmallBlock);
        CHECK(to_integer(block.begin) % PinnedSource::kAlignment == 0);
        *pointer_of(block.begin) = std::byte{1};
        *pointer_of(block.begin + (kSmallBlock - 1)) = std::byte{1};
        begins.insert(to_integer(block.begin));
    }
    CHECK(begins.size() == 10);
    for (auto at = begins.begin(); std::next(at) != begins.end(); ++at)
        CHECK(*std::next(at) - *at >= kSmallBlock);
    CHECK(run->block(10) == Range{});
    CHECK(run->block(~std::size_t{0}) == Range{});
    check_whole(*blocks, source);
    CHECK(blocks->usage().peak == 10);
}

TEST_CASE("the block given back last is handed out next", "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 8, 1, 8);
    BlockRun a = take(*blocks, 3);
    BlockRun b = take(*blocks, 2);
    const Range first = a.block(0), second = a.block(1), third = a.block(2);
    a.clear();
    BlockRun again = take(*blocks, 3);  // the same in the same order
    CHECK(again.block(0) == first);
    CHECK(again.block(1) == second);
    CHECK(again.block(2) == third);
    const Range of_b = b.block(1);
    b.trim_to(kSmallBlock);
    CHECK(take(*blocks, 1).block(0) == of_b);
    check_whole(*blocks, source);
}

TEST_CASE("a request that cannot be had pins nothing and takes nothing", "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 4, 1, 16);
    const BlockRun some = take(*blocks, 3);
    const std::uint64_t calls = source.calls();
    for (const Bytes size : {14 * kSmallBlock, kLargestRequest, ~Bytes{0}})
        CHECK(blocks->allocate(size).error() == BlockRefusal::capacity);
    CHECK(source.calls() == calls);
    CHECK(blocks->usage().used == 3);
    CHECK(blocks->usage().refused == 3);
    CHECK(blocks->allocate(13 * kSmallBlock));
    check_whole(*blocks, source);
}

TEST_CASE("pinning that fails in the middle of a growth leaks no block and no count (defect 12)",
          "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 4, 1, 64);
    BlockRun some = take(*blocks, 2);
    source.fail_from(3);  // this request needs three pools more: the second is refused
    const BlockResult<BlockRun> run = blocks->allocate(12 * kSmallBlock);
    REQUIRE_FALSE(run);
    CHECK(run.error() == BlockRefusal::source);
    REQUIRE(blocks->source_error());
    CHECK(blocks->source_error()->where == "failing source");
    HostBlocksUsage usage = blocks->usage();
    CHECK(usage.used == 2);
    CHECK(usage.free == 6);
    CHECK(usage.refused == 1);
    check_whole(*blocks, source);

    CHECK(blocks->allocate(7 * kSmallBlock).error() == BlockRefusal::source);
    CHECK(take(*blocks, 6).blocks() == 6);
    some.clear();
    source.fail_from(0);
    CHECK(blocks->allocate(64 * kSmallBlock));
    CHECK(blocks->usage().used == 0);
    check_whole(*blocks, source);
}

TEST_CASE("a run that was moved from or never had a pool is empty (defect 15)",
          "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 4, 1, 16);
    const BlockResult<BlockRun> empty = blocks->allocate(0);
    REQUIRE(empty);
    CHECK(empty->blocks() == 0);
    CHECK(empty->size() == 0);
    CHECK(empty->block_size() == kSmallBlock);
    CHECK(empty->block(0) == Range{});

    BlockRun run = take(*blocks, 2);
    BlockRun moved = std::move(run);
    CHECK(moved.blocks() == 2);
    CHECK(run.block_size() == 0);
    run.trim_to(0);
    run.clear();
    CHECK(blocks->usage().used == 2);
    moved = take(*blocks, 1);
    CHECK(blocks->usage().used == 1);
    BlockRun& same = moved;
    moved = std::move(same);
    CHECK(moved.blocks() == 1);
    moved = BlockRun{};
    CHECK(blocks->usage().used == 0);
}

TEST_CASE("a run gives back its tail, and all", "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 8, 1, 8);
    BlockRun run = take(*blocks, 6);
    const Range third = run.block(2);
    run.trim_to(7 * kSmallBlock);
    CHECK(run.blocks() == 6);
    run.trim_to(4 * kSmallBlock + 1);
    CHECK(run.blocks() == 5);
    CHECK(run.size() == 5 * kSmallBlock);
    CHECK(run.block(2) == third);
    CHECK(blocks->usage().used == 5);
    run.clear();
    CHECK(run.blocks() == 0);
    CHECK(blocks->usage().used == 0);
    check_whole(*blocks, source);
}

TEST_CASE("trim gives back pools that are free as a whole, and they come again",
          "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 4, 3, 16);
    BlockRun low = take(*blocks, 4);  // of one pool, whichever it is
    BlockRun middle = take(*blocks, 8);
    BlockRun high = take(*blocks, 4);
    CHECK(blocks->usage().pools == 4);
    CHECK(blocks->trim() == 0);
    low.clear();
    high.trim_to(3 * kSmallBlock);  // a part of another
    CHECK(blocks->trim() == 4 * kSmallBlock);
    CHECK(blocks->usage().pools == 3);
    CHECK(blocks->usage().free == 1);
    check_whole(*blocks, source);
    BlockRun more = take(*blocks, 5);
    CHECK(blocks->usage().pools == 4);
    middle.clear();
    high.clear();
    more.clear();
    CHECK(blocks->trim(9 * kSmallBlock) == 4 * kSmallBlock);
    CHECK(blocks->usage().free == 12);
    CHECK(blocks->trim(8 * kSmallBlock + 1) == 0);
    CHECK(blocks->trim() == 12 * kSmallBlock);
    CHECK(source.pieces() == 0);
    CHECK(blocks->usage().pools == 0);
    CHECK(take(*blocks, 16).blocks() == 16);
    check_whole(*blocks, source);
}

TEST_CASE("while one thread pins, others allocate and release", "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 4, 1, 16);
    BlockRun run = take(*blocks, 3);
    source.close();
    bool had = false;
    std::thread grower([&] { had = blocks->allocate(4 * kSmallBlock).has_value(); });
    source.await_caller();
    run.clear();  // would wait for ever if pinning held the lock
    run = take(*blocks, 4);
    CHECK(blocks->usage().used == 4);
    run.trim_to(kSmallBlock);
    CHECK(blocks->allocate(3 * kSmallBlock));
    CHECK(blocks->allocate(17 * kSmallBlock).error() == BlockRefusal::capacity);
    source.open();
    grower.join();
    CHECK(had);
    CHECK(source.calls() == 2);
    check_whole(*blocks, source);
}

TEST_CASE("two threads that need growth do not pin twice what one pool serves",
          "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 4, 0, 64);
    source.close();
    std::atomic<int> served = 0;
    std::vector<BlockRun> runs(4);
    std::vector<std::thread> threads;
    for (BlockRun& run : runs) {
        threads.emplace_back([&] {
            BlockResult<BlockRun> got = blocks->allocate(kSmallBlock);
            if (got)
                run = std::move(*got), ++served;
        });
    }
    source.await_caller();
    source.open();
    for (std::thread& thread : threads)
        thread.join();
    CHECK(served == 4);
    CHECK(source.calls() == 1);
    CHECK(blocks->usage().pools == 1);
    check_whole(*blocks, source);
}

TEST_CASE("a growth that is refused takes what was given back meanwhile", "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 4, 1, 16);
    BlockRun run = take(*blocks, 4);
    source.fail_from(2);
    source.close();
    bool had = false;
    std::thread grower([&] { had = blocks->allocate(2 * kSmallBlock).has_value(); });
    source.await_caller();
    run.trim_to(2 * kSmallBlock);
    source.open();
    grower.join();
    CHECK(had);
    check_whole(*blocks, source);
}

TEST_CASE("random operations leave what a plain model says, also when pinning fails",
          "[tiers][host_blocks]") {
    FailingSource source;
    Random random(11);
    {
        const auto blocks = make(source, 5, 1, 48);
        std::vector<BlockRun> runs(6);
        for (int i = 0; i < 4000; ++i) {
            source.fail_from(random.below(4) == 0 ? 1 : 0);
            const std::size_t which = random.below(runs.size());
            BlockRun& run = runs[which];
            const Bytes size = random.below(12 * kSmallBlock);
            switch (random.below(3)) {
                case 0: {
                    BlockResult<BlockRun> got = blocks->allocate(size);
                    if (got)
                        run = std::move(*got);
                    break;
                }
                case 1:
                    run.trim_to(size);
                    break;
                default:
                    blocks->trim(size);
            }
            std::uint64_t used = 0;
            std::set<Bytes> begins;
            for (const BlockRun& each : runs) {
                used += each.blocks();
                for (std::size_t b = 0; b < each.blocks(); ++b)
                    begins.insert(to_integer(each.block(b).begin));
            }
            REQUIRE(begins.size() == used);  // no block twice
            REQUIRE(blocks->usage().used == used);
            REQUIRE((used + blocks->usage().free) * kSmallBlock == source.bytes());
            REQUIRE(used + blocks->usage().free <= 48);
        }
        runs.clear();
        CHECK(blocks->usage().used == 0);
        blocks->trim();
        CHECK(source.pieces() == 0);
    }
    CHECK_FALSE(source.misused());
}

TEST_CASE("threads at random never share a block, and leave nothing behind",
          "[tiers][host_blocks]") {
    FailingSource source;
    const auto blocks = make(source, 4, 1, 24);
    std::atomic<int> shared = 0;
    std::atomic<int> had = 0;
    std::vector<std::thread> threads;
    for (std::uint64_t number = 1; number <= 6; ++number) {
        threads.emplace_back([&, number] {
            Random random(number);
            for (int i = 0; i < 1500; ++i) {
                if (random.below(64) == 0)
                    blocks->trim(random.below(24) * kSmallBlock);
                BlockResult<BlockRun> run = blocks->allocate(random.below(6 * kSmallBlock));
                if (!run)
                    continue;
                ++had;
                const auto mark = static_cast<std::byte>(number);
                for (std::size_t b = 0; b < run->blocks(); ++b)
                    *pointer_of(run->block(b).begin) = mark;
                if (random.below(4) == 0)
                    std::this_thread::yield();
                for (std::size_t b = 0; b < run->blocks(); ++b)
                    shared += *pointer_of(run->block(b).begin) != mark;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(shared == 0);
    CHECK(had > 1000);
    CHECK(blocks->usage().used == 0);
    check_whole(*blocks, source);
    blocks->trim();
    CHECK(source.pieces() == 0);
}

}  // namespace tidemark
