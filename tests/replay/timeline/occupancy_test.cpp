// Heatmaps of address against time, against a plain sum over all blocks and cells.
#include "replay/timeline/occupancy.h"

#include <cmath>
#include <set>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/small_history.h"

using namespace tidemark;
using support::SmallHistory;

namespace {

struct Area {
    double taken = 0;
    double memory = 0;
};

double overlap(double a, double b, double c, double d) {
    return std::max(0.0, std::min(b, d) - std::max(a, c));
}

// The shares of one cell, by looking at everything.
Area cell_by_hand(const History& history, const AddressLayout& layout, const OccupancyFrame& frame,
                  std::uint32_t column, std::uint32_t row) {
    const double wide = static_cast<double>(frame.end - frame.begin) / frame.columns;
    const double high = static_cast<double>(frame.top - frame.bottom) / frame.rows;
    const double left = static_cast<double>(frame.begin) + column * wide;
    const double bottom = static_cast<double>(frame.bottom) + row * high;
    const auto position = [&](EventIndex event) {
        return static_cast<double>(event == kNever ? history.end(frame.unit)
                                                   : history.position(frame.unit, event));
    };
    const auto area = [&](std::uint16_t device, Range range, EventIndex from, EventIndex to) {
        double sum = 0;
        layout.for_each_stretch(device, range, [&](Bytes offset, Bytes length) {
            const auto begin = static_cast<double>(offset);
            sum += overlap(begin, begin + static_cast<double>(length), bottom, bottom + high) *
                   overlap(position(from), position(to), left, left + wide);
        });
        return sum / wide / high;
    };
    Area result;
    for (BlockIndex i = 0; i < history.counts().blocks; ++i) {
        const Block block = history.block(i);
        result.taken += area(history.site(block.site).device, {block.address, block.size},
                             block.born, block.reused);
    }
    for (SegmentIndex i = 0; i < history.counts().segments; ++i) {
        const Segment segment = history.segment(i);
        if (segment.kind != SegmentKind::reservation)
            result.memory +=
                area(segment.device, {segment.begin, segment.size}, segment.born, segment.died);
    }
    return result;
}

OccupancyHeatmap draw(const History& history, const OccupancyFrame& frame, unsigned threads = 1) {
    OccupancyOptions options;
    options.threads = threads;
    return draw_occupancy(history, AddressLayout::of(history),
                          BlockClasses::of(history, BlockTrait::size), frame, options);
}

void check_heatmap(const History& history, const OccupancyFrame& frame) {
    const AddressLayout layout = AddressLayout::of(history);
    const OccupancyHeatmap heatmap = draw(history, frame);
    REQUIRE(heatmap.complete);
    double sum = 0;
    double by_hand = 0;
    for (std::uint32_t row = 0; row < frame.rows; ++row)
        for (std::uint32_t column = 0; column < frame.columns; ++column) {
            const OccupancyCell& cell = heatmap.at(column, row);
            const Area truth = cell_by_hand(history, layout, frame, column, row);
            CHECK(cell.taken / 255.0 == Approx(std::min(truth.taken, 1.0)).margin(1.0 / 250));
            CHECK(cell.memory / 255.0 == Approx(std::min(truth.memory, 1.0)).margin(1.0 / 250));
            sum += cell.taken / 255.0;
            by_hand += std::min(truth.taken, 1.0);
        }
    const double cells = double(frame.columns) * frame.rows;
    CHECK(std::abs(sum - by_hand) <= cells / 255);
}

}  // namespace

TEST_CASE("a block fills the cells where it was while it was there") {
    // 16 events: positions 0 .. 16,000 and a little; 4 KiB of addresses.
    SmallHistory steps;
    steps.segment(0x10000, 4096).idle().idle().idle();
    steps.allocate(1, 1024, {.address = 0x10400}).idle().idle().idle().free(1);
    for (int i = 0; i < 7; ++i)
        steps.idle();
    const auto history = steps.build();
    OccupancyFrame frame{AxisUnit::events, 0, 16'000, 0, 4096, 4, 4};
    const OccupancyHeatmap heatmap = draw(*history, frame);
    for (std::uint32_t row = 0; row < 4; ++row)
        for (std::uint32_t column = 0; column < 4; ++column) {
            CHECK(heatmap.at(column, row).taken == (column == 1 && row == 1 ? 255 : 0));
            CHECK(heatmap.at(column, row).memory == 255);
        }
    frame = {AxisUnit::events, 4000, 6000, 0x400, 0x500, 2, 2};
    CHECK(draw(*history, frame).at(1, 1).taken == 255);
}

TEST_CASE("cells are the shares that a plain sum over all blocks gives") {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const auto history = support::random_history(seed, 300);
        const AddressLayout layout = AddressLayout::of(*history);
        for (const AxisUnit unit : {AxisUnit::time, AxisUnit::events}) {
            OccupancyFrame frame = whole_frame(*history, layout, unit, 13, 11);
            check_heatmap(*history, frame);
            Random random(seed);
            const auto end = static_cast<std::uint64_t>(frame.end);
            frame.begin = static_cast<Position>(random.below(end));
            frame.end = frame.begin + 1 + static_cast<Position>(random.below(end));
            frame.bottom = random.below(frame.top);
            frame.top = frame.bottom + 1 + random.below(frame.top);
            check_heatmap(*history, frame);
        }
    }
}

TEST_CASE("several threads draw what one draws") {
    const auto history = support::random_history(7, 40'000);
    const AddressLayout layout = AddressLayout::of(*history);
    for (const std::uint32_t columns : {64U, 2000U}) {
        const OccupancyFrame frame = whole_frame(*history, layout, AxisUnit::time, columns, 700);
        CHECK(draw(*history, frame, 1).cells == draw(*history, frame, 3).cells);
    }
}

TEST_CASE("many columns have in them what a few of them have alone") {
    constexpr std::uint32_t kColumns = 2048;  // drawn in several strips
    constexpr std::uint32_t kPart = 256;      // in one
    constexpr Position kWidth = 1024;         // of a column: edges are exact
    const auto history = support::random_history(3, 2000);
    const AddressLayout layout = AddressLayout::of(*history);
    OccupancyFrame frame = whole_frame(*history, layout, AxisUnit::events, kColumns, 1024);
    frame.end = kColumns * kWidth;
    const OccupancyHeatmap whole = draw(*history, frame);
    for (std::uint32_t first = 0; first < kColumns; first += kPart) {
        OccupancyFrame some = frame;
        some.begin = first * kWidth;
        some.end = some.begin + kPart * kWidth;
        some.columns = kPart;
        const OccupancyHeatmap part = draw(*history, some);
        std::size_t same = 0;
        for (std::uint32_t row = 0; row < frame.rows; ++row)
            for (std::uint32_t column = 0; column < kPart; ++column) {
                const OccupancyCell& one = whole.at(first + column, row);
                const OccupancyCell& other = part.at(column, row);
                same += one.taken == other.taken && one.memory == other.memory ? 1 : 0;
            }
        CHECK(same == std::size_t{kPart} * frame.rows);
    }
}

TEST_CASE("what takes most of a cell gives it its kind, and tells if it waits") {
    const auto history = SmallHistory()
                             .segment(0x10000, 4096)
                             .allocate(1, 512, {.address = 0x10000, .tag = "small"})
                             .allocate(2, 3072, {.address = 0x10400, .tag = "large"})
                             .retire(2)
                             .idle()
                             .idle()
                             .finish(2)
                             .build();
    const AddressLayout layout = AddressLayout::of(*history);
    const BlockClasses classes = BlockClasses::of(*history, BlockTrait::tag);
    const std::uint8_t large = classes.of(history->block(history ? 1 : 0));
    CHECK(classes.all()[large].name == "large");
    const OccupancyFrame frame{AxisUnit::events, 2000, 6000, 0, 4096, 4, 1};
    const OccupancyHeatmap heatmap = draw_occupancy(*history, layout, classes, frame);
    for (std::uint32_t column = 0; column < 4; ++column) {
        CHECK(heatmap.at(column, 0).kind == large);
        CHECK(((heatmap.at(column, 0).flags & kWaitingCell) != 0) == (column > 0));
    }
}

TEST_CASE("reserved addresses without pages are told from those without anything") {
    const auto history = SmallHistory()
                             .reserve(0x1000'0000, 8_MiB)
                             .map(0x1000'0000, 2_MiB)
                             .idle()
                             .unmap(0x1000'0000, 2_MiB)
                             .idle()
                             .build();
    const AddressLayout layout = AddressLayout::of(*history);
    const OccupancyFrame frame = whole_frame(*history, layout, AxisUnit::events, 4, 4);
    const OccupancyHeatmap heatmap = draw(*history, frame);
    CHECK(heatmap.at(1, 0).memory > 200);
    CHECK(heatmap.at(1, 3).memory == 0);
    CHECK((heatmap.at(1, 3).flags & kReservedCell) != 0);
    CHECK(heatmap.at(3, 0).memory == 0);
}

TEST_CASE("blocks that a caller doesn't ask for are there, without a kind of their own") {
    const auto history = SmallHistory()
                             .segment(0x10000, 4096)
                             .allocate(1, 4096, {.address = 0x10000})
                             .idle()
                             .build();
    OccupancyOptions options;
    options.shows = [](const Block&) { return false; };
    const AddressLayout layout = AddressLayout::of(*history);
    const OccupancyHeatmap heatmap =
        draw_occupancy(*history, layout, BlockClasses::of(*history, BlockTrait::size),
                       {AxisUnit::events, 1000, 2000, 0, 4096, 1, 1}, options);
    CHECK(heatmap.at(0, 0).taken == 255);
    CHECK(heatmap.at(0, 0).kind == kHiddenKind);
}

TEST_CASE("absurd frames and blocks do no harm") {
    SmallHistory steps;
    steps.segment(0, 4096).allocate(1, 0, {.address = 0x100}).allocate(2, 512, {.address = 1});
    steps.at(0).free(2);
    steps.allocate(3, 4096, {.address = ~std::uint64_t{0} - 4095});
    steps.allocate(4, 8192, {.address = ~std::uint64_t{0} - 4095});
    const auto history = steps.build();
    const Position far = Position{1} << 62U;
    for (const OccupancyFrame& frame :
         {OccupancyFrame{AxisUnit::time, -far, far, 0, ~Bytes{0}, 7, 5},
          OccupancyFrame{AxisUnit::events, 0, 0, 9, 9, 0, 0},
          OccupancyFrame{AxisUnit::events, far, far + 1, ~Bytes{0} - 1, ~Bytes{0}, 3, 3},
          OccupancyFrame{AxisUnit::time, 0, 1, 0, 1, 100, 100}}) {
        const OccupancyHeatmap heatmap = draw(*history, frame);
        CHECK(heatmap.cells.size() == std::size_t{heatmap.frame.columns} * heatmap.frame.rows);
    }
    const auto nothing = SmallHistory().build();
    CHECK(draw(*nothing, {AxisUnit::time, 0, 10, 0, 10, 4, 4}).cells.size() == 16);
}

TEST_CASE("a picture that is cancelled says that it shows a part") {
    const auto history = support::random_history(3, 2000);
    const std::atomic<bool> cancel = true;
    OccupancyOptions options;
    options.cancel = &cancel;
    const AddressLayout layout = AddressLayout::of(*history);
    const OccupancyHeatmap heatmap =
        draw_occupancy(*history, layout, BlockClasses::of(*history, BlockTrait::life),
                       whole_frame(*history, layout, AxisUnit::time, 8, 8), options);
    CHECK_FALSE(heatmap.complete);
}

TEST_CASE("classes are the heaviest, and all others are one") {
    SmallHistory steps;
    for (std::uint64_t i = 1; i <= 20; ++i)
        steps.allocate(i, i * 1024, {.tag = "tag " + std::to_string(i)});
    steps.allocate(21, 512);
    const auto history = steps.build();
    const BlockClasses classes = BlockClasses::of(*history, BlockTrait::tag, 4);
    REQUIRE(classes.all().size() == 4);
    CHECK(classes.all()[3].rest);
    CHECK(classes.all()[3].name == "18 others");
    double sum = 0;
    for (const BlockClass& one : classes.all())
        sum += one.weight;
    CHECK(sum == Approx(1));
    CHECK(classes.of(history->block(20)) == 3);
    CHECK(classes.of(history->block(0)) == 3);
    const BlockClasses sizes = BlockClasses::of(*history, BlockTrait::size, 3);
    CHECK(sizes.all().size() <= 3);
    CHECK(sizes.of(history->block(20)) == 0);
    CHECK(sizes.all().front().name == "below " + sizes.all().front().end);
    const BlockClasses lives = BlockClasses::of(*history, BlockTrait::life);
    CHECK(lives.all()[lives.of(history->block(0))].name == "never freed");
    CHECK(BlockClasses::of(*history, BlockTrait::stack).trivial());
}

TEST_CASE("sizes that hold most are told apart, however near they are", "[occupancy]") {
    SmallHistory steps;
    // Nearly all lies in three sizes of one power of two, one of them far before the others.
    for (std::uint64_t i = 0; i < 300; ++i)
        steps.allocate(i, i % 3 == 0 ? 9_MiB : i % 3 == 1 ? 11_MiB : 13_MiB);
    for (std::uint64_t i = 300; i < 3000; ++i)
        steps.allocate(i, 11_MiB);
    steps.allocate(3000, 512);
    steps.allocate(3001, 40_MiB);
    const auto history = steps.build();
    const BlockClasses classes = BlockClasses::of(*history, BlockTrait::size);
    CHECK(classes.all().size() <= 8);
    std::set<std::uint8_t> kinds;
    for (const BlockIndex block : {0U, 1U, 2U, 3000U, 3001U})
        kinds.insert(classes.of(history->block(block)));
    CHECK(kinds.size() == 5);
    CHECK(classes.all()[classes.of(history->block(1))].name == "10 to 12 MiB");
    CHECK(classes.all()[classes.of(history->block(3000))].name == "below 640 B");
    CHECK(classes.all()[classes.of(history->block(3001))].name == "40 to 48 MiB");
    double sum = 0;
    for (const BlockClass& one : classes.all())
        sum += one.weight;
    CHECK(sum == Approx(1));
    // Sizes at the ends of the range, also of blocks that come later, are in a class.
    const auto odd = SmallHistory()
                         .allocate(1, 0, {.address = 1})
                         .allocate(2, 1, {.address = 2})
                         .allocate(3, ~Bytes{0}, {.address = 3})
                         .build();
    const BlockClasses ends = BlockClasses::of(*odd, BlockTrait::size);
    CHECK(ends.of(odd->block(0)) == 0);
    CHECK(ends.of(odd->block(2)) == ends.all().size() - 1);
    CHECK(classes.of(odd->block(2)) == classes.all().size() - 1);
}
