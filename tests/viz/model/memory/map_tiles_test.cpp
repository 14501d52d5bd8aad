// The address map's pictures and picks, against plain looks at every block; and what is shown while
// pictures are still being made.
#include "viz/model/memory/map_tiles.h"

#include <chrono>
#include <thread>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/small_history.h"
#include "viz/model/session/moment.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::SmallHistory;

namespace {

MapLook look_at(const History& history, AxisUnit unit, std::uint32_t columns, std::uint32_t rows) {
    MapLook look;
    look.unit = unit;
    look.window = {0, history.end(unit)};
    look.columns = columns;
    look.rows = rows;
    look.trait = BlockTrait::size;
    return look;
}

std::vector<OccupancyCell> cells(const MapTiles& tiles, const MapLook& look) {
    std::vector<OccupancyCell> all(std::size_t{look.columns} * look.rows);
    tiles.for_each_cell([&](std::uint32_t x, std::uint32_t y, const OccupancyCell& cell) {
        all[std::size_t{y} * look.columns + x] = cell;
    });
    return all;
}

// A program of steps in 1 MiB of addresses: some blocks wait, some stay.
std::shared_ptr<const History> busy_history(std::uint64_t seed, std::uint64_t blocks) {
    Random random(seed);
    SmallHistory steps;
    steps.segment(0x100000, 512_KiB).segment(0x300000, 512_KiB);
    std::vector<std::uint64_t> slots(64);  // 16 KiB each: who lives there
    for (std::uint64_t i = 1; i <= blocks; ++i) {
        const std::size_t at = random.below(slots.size());
        if (slots[at] != 0) {
            if (random.below(4) == 0)
                steps.retire(slots[at]).idle().finish(slots[at]);
            else
                steps.free(slots[at]);
        }
        slots[at] = i;
        const std::uint64_t base = at < 32 ? 0x100000 : 0x300000;
        steps.allocate(i, 512 * (1 + random.below(32)),
                       {.address = base + at % 32 * 16_KiB, .tag = at % 2 == 0 ? "even" : "odd"});
    }
    return steps.build();
}

}  // namespace

TEST_CASE("what is looked at is drawn as sharp as a picture of just that") {
    const auto history = busy_history(1, 500);
    MapTiles tiles;
    MapLook look = look_at(*history, AxisUnit::events, 40, 32);
    look.window = {80'000, 240'000};
    look.addresses = {0.25, 0.75};
    tiles.look(history, look);
    tiles.finish();
    REQUIRE(tiles.ground() != nullptr);
    CHECK_FALSE(tiles.busy());
    CHECK(tiles.bottom() == 256_KiB);
    CHECK(tiles.top() == 768_KiB);
    const OccupancyFrame frame{AxisUnit::events, 80'000, 240'000, 256_KiB, 768_KiB, 40, 32};
    const OccupancyHeatmap truth =
        draw_occupancy(*history, tiles.ground()->layout, tiles.ground()->classes, frame);
    const std::vector<OccupancyCell> shown = cells(tiles, look);
    for (std::uint32_t row = 0; row < 32; ++row)
        for (std::uint32_t column = 0; column < 40; ++column) {
            const OccupancyCell& cell = shown[row * 40 + column];
            CHECK(std::abs(cell.taken - truth.at(column, row).taken) <= 1);
            CHECK(cell.memory == truth.at(column, row).memory);
            CHECK(tiles.cell(column, row) == cell);
        }
}

TEST_CASE("after a movement the last pictures are shown until there is a sharp one") {
    const auto history = busy_history(2, 500);
    MapTiles tiles;
    MapLook look = look_at(*history, AxisUnit::time, 64, 64);
    tiles.look(history, look);
    tiles.finish();
    const std::uint64_t revision = tiles.revision();
    tiles.look(history, look);
    CHECK(tiles.revision() == revision);
    look.window = {history->end(AxisUnit::time) / 2, history->end(AxisUnit::time) / 2 + 500};
    tiles.look(history, look);
    CHECK(tiles.busy());
    CHECK(tiles.revision() != revision);
    std::size_t taken = 0;
    for (const OccupancyCell& cell : cells(tiles, look))
        taken += cell.taken > 0 ? 1 : 0;
    CHECK(taken > 100);  // no hole where the sharp picture will be
    tiles.finish();
    CHECK(tiles.blocks() != nullptr);
}

TEST_CASE("going back finds the picture that was there") {
    const auto history = busy_history(3, 300);
    MapTiles tiles;
    const MapLook first = look_at(*history, AxisUnit::time, 50, 50);
    MapLook second = first;
    second.window = {100, 1100};
    tiles.look(history, first);
    tiles.finish();
    tiles.look(history, second);
    tiles.finish();
    tiles.look(history, first);
    CHECK_FALSE(tiles.busy());
}

TEST_CASE("a pick finds the block that a look at every block finds") {
    const auto history = busy_history(4, 400);
    MapTiles tiles;
    const MapLook look = look_at(*history, AxisUnit::time, 100, 100);
    tiles.look(history, look);
    tiles.finish();
    const AddressLayout& layout = tiles.ground()->layout;
    Random random(1);
    std::size_t found = 0;
    for (int i = 0; i < 2000; ++i) {
        const auto position = static_cast<Position>(
            random.below(static_cast<std::uint64_t>(history->end(AxisUnit::time))));
        const Bytes offset = random.below(layout.length());
        const auto event = event_at(*history, AxisUnit::time, position);
        BlockIndex truth = kNoBlock;
        for (BlockIndex k = 0; event && k < history->counts().blocks; ++k) {
            const Block block = history->block(k);
            const auto at = layout.location(offset, *event);
            if (block.born <= *event && *event < block.reused && at &&
                at->address >= block.address && at->address - block.address < block.size)
                truth = k;
        }
        CHECK(tiles.pick(position, offset, 0, 0) == truth);
        found += truth == kNoBlock ? 0 : 1;
    }
    CHECK(found > 200);
}

TEST_CASE("a block smaller than the mouse can point at is found beside it") {
    const auto history = SmallHistory()
                             .segment(0x10000, 1_MiB)
                             .idle()
                             .allocate(1, 16, {.address = 0x10000 + 512_KiB})
                             .free(1)
                             .idle()
                             .idle()
                             .build();
    MapTiles tiles;
    const MapLook look = look_at(*history, AxisUnit::events, 100, 100);
    tiles.look(history, look);
    tiles.finish();
    CHECK(tiles.pick(2500, 512_KiB + 1000, 0, 0) == kNoBlock);
    CHECK(tiles.pick(2500, 512_KiB + 1000, 100, 2000) == 0);
    CHECK(tiles.pick(2500, 512_KiB + 9000, 100, 2000) == kNoBlock);
}

TEST_CASE("few blocks are there one by one, with their places") {
    const auto history = busy_history(5, 400);
    MapTiles tiles;
    MapLook look = look_at(*history, AxisUnit::events, 80, 60);
    look.window = {100'000, 130'000};
    look.addresses = {0.5, 1};
    tiles.look(history, look);
    tiles.finish();
    REQUIRE(tiles.blocks() != nullptr);
    std::vector<BlockIndex> shown;
    for (const MapBlock& block : *tiles.blocks()) {
        const Block truth = history->block(block.block);
        CHECK(block.born == history->position(AxisUnit::events, truth.born));
        CHECK(block.length == truth.size);
        CHECK(tiles.ground()->layout.offset(0, truth.address) == block.offset);
        shown.push_back(block.block);
    }
    for (BlockIndex i = 0; i < history->counts().blocks; ++i) {
        const Block block = history->block(i);
        const bool within =
            block.born < 130 && block.reused >= 100 && to_integer(block.address) >= 0x300000;
        if (within)
            CHECK(std::find(shown.begin(), shown.end(), i) != shown.end());
    }
}

TEST_CASE("blocks that the filter hides are there without a colour") {
    const auto history = busy_history(6, 200);
    MapTiles tiles;
    MapLook look = look_at(*history, AxisUnit::events, 40, 64);
    look.filter.text = "even";
    tiles.look(history, look);
    tiles.finish();
    bool hidden = false;
    bool shown = false;
    for (const OccupancyCell& cell : cells(tiles, look)) {
        hidden = hidden || (cell.taken > 0 && cell.kind == kHiddenKind);
        shown = shown || (cell.taken > 0 && cell.kind != kHiddenKind);
    }
    CHECK(hidden);
    CHECK(shown);
}

TEST_CASE("a history without addresses, or without anything, has a map without rows") {
    for (const auto& history : {SmallHistory().build(), SmallHistory().idle().idle().build()}) {
        MapTiles tiles;
        const MapLook look = look_at(*history, AxisUnit::time, 10, 10);
        tiles.look(history, look);
        tiles.finish();
        REQUIRE(tiles.ground() != nullptr);
        CHECK(tiles.ground()->layout.length() == 0);
        CHECK(cells(tiles, look)[5].taken == 0);
        CHECK(tiles.pick(0, 0, 10, 10) == kNoBlock);
    }
}

TEST_CASE("a run that grows is drawn again when it has grown") {
    SmallHistory steps;
    steps.segment(0x10000, 64_KiB).allocate(1, 32_KiB, {.address = 0x10000});
    const auto history = steps.look();
    MapTiles tiles;
    MapLook look = look_at(*history, AxisUnit::events, 16, 16);
    tiles.look(history, look);
    tiles.finish();
    const EventIndex before = tiles.ground()->events;
    for (std::uint64_t i = 2; i < 50; ++i)
        steps.segment(i * 1_MiB, 64_KiB).allocate(i, 64_KiB, {.address = i * 1_MiB});
    steps.look();
    look.window.end = history->end(AxisUnit::events);
    // It takes its rest first: however long that is, it comes.
    while (tiles.ground()->events == before) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        tiles.look(history, look);
    }
    tiles.finish();
    CHECK(tiles.ground()->layout.length() == 49 * 64_KiB);
    CHECK(cells(tiles, look)[15].taken > 0);
}
