// The memory of an instant, against a look at every byte; and its lines of bars.
#include "viz/model/memory/memory_now.h"

#include <map>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/small_history.h"
#include "tests/viz/model/history_question.h"
#include "viz/model/memory/bar_lines.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::SmallHistory;

namespace {

// Blocks and segments in a few KiB of addresses, so that each byte can be looked at.
std::shared_ptr<const History> tiny_history(std::uint64_t seed) {
    Random random(seed);
    SmallHistory steps;
    std::map<std::uint64_t, std::uint64_t> live;  // slot of 64 bytes -> block
    steps.segment(0, 1024).segment(2048, 512).reserve(4096, 8192).map(4096, 1024);
    steps.map(5120, 512).map(8192, 1024);
    const std::uint64_t bases[] = {64, 2048, 4096, 8192};
    for (std::uint64_t i = 1; i <= 60; ++i) {
        const std::uint64_t slot = bases[random.below(4)] + 64 * random.below(8);
        if (const auto old = live.find(slot); old != live.end()) {
            if (random.below(3) == 0)
                steps.retire(old->second).idle().finish(old->second);
            else
                steps.free(old->second);
            live.erase(old);
        } else {
            steps.allocate(i, 1 + random.below(64), {.address = slot});
            live[slot] = i;
        }
    }
    return steps.build();
}

void check_now(const History& history, EventIndex event) {
    enum : std::uint8_t { kMemory = 1, kTaken = 2, kWaits = 4 };

    std::vector<std::uint8_t> bytes(16'384);
    for (SegmentIndex i = 0; i < history.counts().segments; ++i) {
        const Segment segment = history.segment(i);
        if (segment.born <= event && event < segment.died &&
            segment.kind != SegmentKind::reservation)
            for (Bytes k = 0; k < segment.size; ++k)
                bytes[to_integer(segment.begin) + k] |= kMemory;
    }
    for (BlockIndex i = 0; i < history.counts().blocks; ++i) {
        const Block block = history.block(i);
        if (block.born <= event && event < block.reused)
            for (Bytes k = 0; k < block.size; ++k)
                bytes[to_integer(block.address) + k] |=
                    static_cast<std::uint8_t>(kTaken | (block.freed <= event ? kWaits : 0));
    }
    Bytes memory = 0;
    Bytes taken = 0;
    Bytes waiting = 0;
    Bytes largest = 0;
    Bytes run = 0;
    std::uint64_t gaps = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        memory += (bytes[i] & kMemory) != 0 ? 1U : 0U;
        taken += (bytes[i] & kTaken) != 0 ? 1U : 0U;
        waiting += (bytes[i] & kWaits) != 0 ? 1U : 0U;
        run = bytes[i] == kMemory ? run + 1 : 0;
        gaps += run == 1 ? 1U : 0U;
        largest = std::max(largest, run);
    }
    const MemoryNow now = memory_now(history, event, kGoOn);
    CHECK(now.memory == memory);
    CHECK(now.taken == taken);
    CHECK(now.waiting == waiting);
    CHECK(now.gap == largest);
    CHECK(now.gaps == gaps);
    for (const NowBar& bar : now.bars)
        for (std::uint32_t i = 0; i < bar.blocks; ++i) {
            const NowBlock& block = now.blocks[bar.first_block + i];
            CHECK(block.at + block.size <= bar.length);
            CHECK(block_at(now, bar, block.at) == block.block);
            CHECK(block_at(now, bar, block.at + block.size - 1) == block.block);
        }
}

}  // namespace

TEST_CASE("taken, waiting and free bytes are those that a look at every byte finds") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const auto history = tiny_history(seed);
        for (EventIndex event = 0; event < history->counts().events; event += 3)
            check_now(*history, event);
    }
}

TEST_CASE("a reservation is one bar with holes, long ones cut short") {
    const auto history = SmallHistory()
                             .reserve(0x1000'0000, 64_GiB)
                             .map(0x1000'0000, 2_MiB)
                             .map(0x1000'0000 + 2_MiB, 2_MiB)
                             .map(0x1000'0000 + 32_GiB, 4_MiB)
                             .allocate(1, 3_MiB, {.address = 0x1000'0000})
                             .build();
    const MemoryNow now = memory_now(*history, 4, kGoOn);
    REQUIRE(now.bars.size() == 1);
    REQUIRE(now.holes.size() == 1);
    CHECK(now.holes[0].size == 32_GiB - 4_MiB);
    CHECK(now.holes[0].shown < 1_MiB);
    CHECK(now.memory == 8_MiB);
    CHECK(now.taken == 3_MiB);
    CHECK(now.gaps == 2);
    CHECK(now.gap == 4_MiB);
    CHECK(now.bars[0].length == 8_MiB + now.holes[0].shown);
}

TEST_CASE("a second mapping is a bar without memory, its block also at home") {
    SmallHistory small;
    small.reserve(0x1000'0000, 8_MiB).map(0x1000'0000, 8_MiB);
    small.reserve(0x9000'0000, 4_MiB).view(0x9000'0000, 4_MiB, 0x1000'0000 + 4_MiB);
    const auto history = small.allocate(1, 3_MiB, {.address = 0x9000'0000}).build();

    const MemoryNow now = memory_now(*history, 4, kGoOn);

    REQUIRE(now.bars.size() == 2);
    CHECK(now.views == 1);
    CHECK(now.memory == 8_MiB);
    CHECK(now.taken == 3_MiB);
    CHECK(now.gap == 4_MiB);
    CHECK(now.gaps == 2);
    CHECK(now.bars[1].kind == SegmentKind::view);
    CHECK(now.bars[1].memory == 0);
    CHECK(block_at(now, now.bars[0], 4_MiB) == small.block(1));
    CHECK(block_at(now, now.bars[1], 0) == small.block(1));
    CHECK(block_at(now, now.bars[1], 3_MiB) == kNoBlock);
}

TEST_CASE("blocks that no segment holds are bars of their own") {
    const auto history = SmallHistory()
                             .allocate(1, 512, {.address = ~std::uint64_t{0} - 511})
                             .allocate(2, 512, {.address = 0x1000})
                             .allocate(3, 512, {.address = 0x2000, .device = 1})
                             .build();
    const MemoryNow now = memory_now(*history, 2, kGoOn);
    REQUIRE(now.bars.size() == 3);
    CHECK_FALSE(now.bars[0].known);
    CHECK(now.memory == 3 * 512);
    CHECK(now.free() == 0);
    const Cancelled stop = true;
    CHECK(memory_now(*history, 2, stop).bars.empty());
}

TEST_CASE("bars fill their lines, each byte once, at one scale") {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const auto history = tiny_history(seed);
        const auto last = static_cast<EventIndex>(history->counts().events - 1);
        const MemoryNow now = memory_now(*history, last, kGoOn);
        for (const auto& [columns, lines] :
             {std::pair{100U, 7U}, {13U, 3U}, {1U, 1U}, {900U, 1U}}) {
            const auto order = bar_order(now, seed % 2 == 0);
            const BarLines text(now, order, columns, lines, 3);
            std::map<std::uint32_t, Bytes> drawn;
            for (const BarPart& part : text.parts()) {
                CHECK(part.begin == drawn[part.bar]);
                drawn[part.bar] = part.end;
                CHECK(part.line < lines);
                CHECK(part.right <= columns);
                CHECK((part.right - part.left) * text.bytes_per_pixel() ==
                      Approx(static_cast<double>(part.end - part.begin)).margin(1));
                const auto at = text.find(part.line, (part.left + part.right) / 2);
                REQUIRE(at);
                CHECK(at->bar == part.bar);
            }
            for (std::uint32_t i = 0; i < now.bars.size(); ++i)
                CHECK(drawn[i] == now.bars[i].length);
        }
    }
}

TEST_CASE("the pixels of all lines hold what the bars hold") {
    const auto history = tiny_history(9);
    const auto last = static_cast<EventIndex>(history->counts().events - 1);
    const MemoryNow now = memory_now(*history, last, kGoOn);
    const BarLines text(now, bar_order(now, true), 200, 9, 2);
    const auto cells = text.cells(now, *history, BlockClasses::of(*history, BlockTrait::size));
    double taken = 0;
    double memory = 0;
    for (const OccupancyCell& cell : cells) {
        taken += cell.taken / 255.0 * text.bytes_per_pixel();
        memory += cell.memory / 255.0 * text.bytes_per_pixel();
    }
    CHECK(taken == Approx(static_cast<double>(now.taken)).epsilon(0.03));
    CHECK(memory == Approx(static_cast<double>(now.memory)).epsilon(0.03));
}
