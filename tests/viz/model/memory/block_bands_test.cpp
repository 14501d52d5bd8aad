// Blocks over time: which have a band, and that all of a column together is what is allocated.
#include "viz/model/memory/block_bands.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "replay/timeline/column_edge.h"
#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "tests/viz/model/history_question.h"
#include "viz/model/memory/band_follower.h"
#include "viz/model/memory/pool_envelopes.h"

namespace tidemark::viz {
namespace {

using support::counterexample;
using support::effort;
using support::random_history;
using support::SmallHistory;
using Kind = BandSlice::Kind;

std::shared_ptr<const OwnerSeries> series_of(const std::shared_ptr<const History>& history,
                                             OwnerSeries::Shows shows = {}) {
    auto series = OwnerSeries::create(history, BlockClasses::of(*history, BlockTrait::stream, 4),
                                      std::move(shows));
    REQUIRE(series);
    REQUIRE((*series)->extend(kGoOn));
    return *series;
}

BlockBands bands_of(const std::shared_ptr<const OwnerSeries>& series, const BandLook& look) {
    BlockLevels levels(std::shared_ptr<const History>(series, &series->history()), look.unit);
    levels.extend(kGoOn);
    auto bands = make_bands(series, levels, look, kGoOn);
    REQUIRE(bands);
    return std::move(*bands);
}

bool lives_after(const Block& block, EventIndex event) {
    return block.born <= event && block.freed > event;
}

// A window of a random history; odd seeds, since of even ones curves are invented.
struct AnyWindow {
    std::shared_ptr<const History> history;
    BandLook look;
};

AnyWindow any_window() {
    AnyWindow any;
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    any.history = random_history(seed | 1U, *rc::gen::inRange<std::size_t>(1, 700));
    any.look.unit = *rc::gen::element(AxisUnit::time, AxisUnit::events);
    const Position end = any.history->end(any.look.unit);
    any.look.window.begin = *rc::gen::inRange<Position>(0, end);
    // Beyond the end, too; a history may last as long as its numbers allow.
    const Position most = 2 * std::min(end, std::numeric_limits<Position>::max() / 8);
    any.look.window.end = any.look.window.begin + 1 + *rc::gen::inRange<Position>(0, most);
    any.look.columns = *rc::gen::inRange<std::uint32_t>(1, 120);
    any.look.pixel = Bytes{1} << *rc::gen::inRange(0, 22);
    any.look.preamble = *rc::gen::inRange<EventIndex>(0, 80);
    return any;
}

}  // namespace

TEST_CASE("a column's slices are what is allocated, whatever the window", "[viz][bands]") {
    CHECK(counterexample(effort(60), [] {
              const AnyWindow any = any_window();
              const bool hides = *rc::gen::arbitrary<bool>();
              const auto series = series_of(
                  any.history,
                  hides ? OwnerSeries::Shows([](const Block& block) { return block.size % 3 != 0; })
                        : OwnerSeries::Shows());
              const BlockBands bands = bands_of(series, any.look);
              std::vector<SeriesColumn> columns(any.look.columns);
              any.history->series(any.look.unit, any.look.window.begin, any.look.window.end,
                                  columns);
              const BlockIndex preamble = any.history->born_before(any.look.preamble);
              BandSweep sweep(bands);
              for (std::size_t column = 0; column < columns.size(); ++column) {
                  const std::span<const BandSlice> slices = sweep.at(column);
                  const EventIndex moment = bands.moments[column];
                  Bytes height = 0;
                  Bytes before = 0;
                  for (const BandSlice& slice : slices) {
                      RC_ASSERT(slice.low == height);
                      RC_ASSERT(slice.high > slice.low);
                      height = slice.high;
                      if (slice.kind == Kind::before)
                          before += slice.high - slice.low;
                      if (slice.kind != Kind::band)
                          continue;
                      const BlockBand& band = bands.bands[slice.index];
                      const Block block = any.history->block(band.block);
                      RC_ASSERT(lives_after(block, moment));
                      RC_ASSERT(slice.high - slice.low == block.size);
                      RC_ASSERT(band.owner == series->owner_of(band.block));
                      if (band.block < preamble)
                          before += block.size;
                  }
                  RC_ASSERT(height == columns[column].max[Series::allocated]);
                  Bytes expected = 0;  // of what lived before the recording, with a band or without
                  for (BlockIndex index = 0; moment != kNever && index < preamble; ++index) {
                      const Block block = any.history->block(index);
                      if (lives_after(block, moment) &&
                          series->owner_of(index) != OwnerSeries::kNoOwner)
                          expected += block.size;
                  }
                  RC_ASSERT(before == expected);
              }
          }) == "");
}

TEST_CASE("what is a pixel high and a column long has a band, older ones below", "[viz][bands]") {
    CHECK(counterexample(effort(60), [] {
              const AnyWindow any = any_window();
              const auto series = series_of(any.history);
              const BlockBands bands = bands_of(series, any.look);
              RC_ASSERT(std::ranges::is_sorted(bands.bands, {}, &BlockBand::block));
              const Position column = any.look.window.length() / any.look.columns;
              for (BlockIndex index = 0; index < any.history->counts().blocks; ++index) {
                  const Block block = any.history->block(index);
                  const bool counts = series->owner_of(index) != OwnerSeries::kNoOwner;
                  const auto live = static_cast<std::size_t>(std::ranges::count_if(
                      bands.moments,
                      [&](EventIndex at) { return at != kNever && lives_after(block, at); }));
                  const BlockBand* const band = bands.band_of(index);
                  if (band != nullptr) {
                      RC_ASSERT(band->last - band->first == live);
                      continue;
                  }
                  const bool is_long = block.freed == kNever ||
                                       any.history->position(any.look.unit, block.freed) -
                                               any.history->position(any.look.unit, block.born) >=
                                           column;
                  RC_ASSERT(!(counts && live > 0 && is_long && block.size >= any.look.pixel));
              }
          }) == "");
}

TEST_CASE("the tree of blocks gives those that are large and live long, by birth", "[viz][bands]") {
    CHECK(counterexample(effort(60), [] {
              const AnyWindow any = any_window();
              const History& history = *any.history;
              BlockLevels levels(any.history, any.look.unit);
              levels.extend(kGoOn);
              const auto events = static_cast<EventIndex>(history.counts().events);
              const auto begin = *rc::gen::inRange<EventIndex>(0, events);
              const auto end = *rc::gen::inRange<EventIndex>(begin, events);
              const Position life = *rc::gen::inRange<Position>(0, history.end(any.look.unit));
              std::vector<BlockIndex> found;
              levels.for_each(begin, end, any.look.pixel, life,
                              [&](BlockIndex index, const Block&) { found.push_back(index); });
              std::vector<BlockIndex> expected;
              for (BlockIndex index = 0; index < history.counts().blocks; ++index) {
                  const Block block = history.block(index);
                  const bool is_long = block.freed == kNever ||
                                       history.position(any.look.unit, block.freed) -
                                               history.position(any.look.unit, block.born) >=
                                           life;
                  if (block.born <= end && block.freed > begin && block.size >= any.look.pixel &&
                      is_long)
                      expected.push_back(index);
              }
              RC_ASSERT(found == expected);
          }) == "");
}

TEST_CASE("a band is where its block is, and comes down when something below it ends",
          "[viz][bands]") {
    SmallHistory steps;
    steps.at(0).allocate(1, 4096).at(100).allocate(2, 8192).at(200).allocate(3, 16);
    steps.at(300).free(1).at(400).idle();
    const auto history = steps.build();
    const BlockBands bands = bands_of(series_of(history), {AxisUnit::time, {0, 400}, 4, 1024, 0});
    REQUIRE(bands.bands.size() == 2);
    CHECK(bands.bands[0].block == steps.block(1));
    BandSweep sweep(bands);
    const auto at = [&](std::size_t column) {
        const auto slices = sweep.at(column);
        return std::vector<BandSlice>(slices.begin(), slices.end());
    };
    CHECK(at(0) == std::vector<BandSlice>{{Kind::band, 0, 0, 4096}});
    CHECK(at(1) == std::vector<BandSlice>{{Kind::band, 0, 0, 4096}, {Kind::band, 1, 4096, 12288}});
    CHECK(at(2) == std::vector<BandSlice>{{Kind::band, 0, 0, 4096},
                                          {Kind::band, 1, 4096, 12288},
                                          {Kind::rest, 0, 12288, 12304}});
    // The column begins with its full height, and what is seen of it is that.
    CHECK(at(3).size() == 3);
    const BlockBands later = bands_of(series_of(history), {AxisUnit::time, {300, 400}, 1, 1024, 0});
    CHECK(later.bands.size() == 2);
}

TEST_CASE("a short block that is high at a peak has a band of its own", "[viz][bands]") {
    SmallHistory steps;
    steps.at(0).allocate(1, 4096).at(1000).allocate(2, 1_MiB).at(1001).free(2).at(100000).idle();
    const BlockBands bands =
        bands_of(series_of(steps.build()), {AxisUnit::time, {0, 100000}, 10, 2048, 0});
    REQUIRE(bands.bands.size() == 2);
    CHECK(bands.bands[1].last - bands.bands[1].first == 1);
}

TEST_CASE("what is summed says how many blocks it is, and the stack of most", "[viz][bands]") {
    SmallHistory steps;
    steps.allocate(1, 512).allocate(2, 1_MiB);
    steps.allocate(3, 1024, {.stack = {"f", "main"}}).allocate(4, 2048, {.stack = {"g", "main"}});
    const auto history = steps.build();
    const BandLook look{AxisUnit::events, {0, 4000}, 4, 64_KiB, 1};
    const auto bands = std::make_shared<const BlockBands>(bands_of(series_of(history), look));
    BandSweep sweep(*bands);
    const auto slices = sweep.at(3);
    REQUIRE(slices.size() == 3);
    CHECK(slices[0] == BandSlice{Kind::before, 0, 0, 512});
    CHECK(slices[1].kind == Kind::band);
    const OwnerDetails before = rest_details(*history, {bands, 3, slices[0]}, kGoOn);
    CHECK(std::tuple(before.bytes, before.blocks) == std::tuple(Bytes{512}, 1U));
    const OwnerDetails rest = rest_details(*history, {bands, 3, slices[2]}, kGoOn);
    CHECK(rest.bytes == slices[2].high - slices[2].low);
    CHECK(rest.blocks == 2);
    CHECK(rest.of_stack == 2048);
    CHECK(rest.stack == history->site(history->block(steps.block(4)).site).stack);
}

TEST_CASE("while the camera moves the last bands stay, and the widest", "[viz][bands]") {
    const auto history = random_history(7, 2000);
    const auto series = series_of(history);
    BandFollower follower;
    const Position end = history->end(AxisUnit::events);
    const BandLook all{AxisUnit::events, {0, end}, 100, 1, 0};
    const BandLook near{AxisUnit::events, {end / 4, end / 2}, 100, 1, 0};
    follower.look(series, all);
    follower.finish();
    REQUIRE(follower.shown());
    CHECK(follower.shown()->look == all);
    const auto wide = follower.shown();
    const std::uint64_t revision = follower.revision();
    follower.look(series, near);
    follower.finish();
    CHECK(follower.shown()->look == near);
    CHECK(follower.wide() == wide);
    CHECK(follower.revision() > revision);
    follower.look(series, near);
    CHECK_FALSE(follower.busy());
    follower.look(nullptr, near);
    CHECK_FALSE(follower.shown());
}

TEST_CASE("a position lies in the column that History::series has it in", "[viz][bands]") {
    BlockBands bands;
    bands.look = {AxisUnit::time, {1000, 1997}, 7, 1, 0};
    CHECK_FALSE(bands.column_at(999));
    CHECK_FALSE(bands.column_at(1997));
    for (Position at = 1000; at < 1997; ++at) {
        const auto column = bands.column_at(at);
        REQUIRE(column);
        CHECK(column_edge(1000, 1997, *column, 7) <= at);
        CHECK(column_edge(1000, 1997, *column + 1, 7) > at);
    }
}

TEST_CASE("a private pool has what is reserved for it by stream, and its high water",
          "[viz][bands]") {
    SmallHistory steps;
    steps.names({.streams = {0, 7}, .pools = {"default", "graph"}});
    steps.segment(0x100000, 4_MiB).allocate(1, 1_MiB, {.address = 0x100000});
    steps.segment(0x800000, 2_MiB);
    steps.allocate(2, 1_MiB, {.address = 0x800000, .stream = 1, .pool = 1});
    steps.allocate(3, 512_KiB, {.address = 0x900000, .stream = 1, .pool = 1});
    steps.free(2).free(3);
    steps.segment(0x1000000, 8_MiB).allocate(4, 64, {.address = 0x1000000, .pool = 1});
    steps.end_segment(0x800000, 2_MiB).idle();
    const auto history = steps.build();
    REQUIRE(has_private_pools(*history));
    const auto pools = pool_envelopes(*history, {AxisUnit::events}, kGoOn);
    REQUIRE(pools.size() == 2);
    CHECK(pools[0].stream == StreamId{0});
    CHECK(pools[1].stream == StreamId{1});
    const Position end = history->end(AxisUnit::events) - 1;
    CHECK(pools[0].reserved.at(end) == 8_MiB);
    CHECK(pools[1].reserved.at(pools[1].reserved.peak_time()) == 2_MiB);
    CHECK(pools[1].reserved.at(end) == 0);
    CHECK(pools[1].high_water.at(end) == 1536_KiB);
    SmallHistory plain;
    plain.allocate(1, 64);
    CHECK_FALSE(has_private_pools(*plain.build()));
}

}  // namespace tidemark::viz
