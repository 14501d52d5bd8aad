// Memory that is mapped at several places counts once: where what lies in a view counts, and what
// the figures of a run that stitches add up to.
#include "replay/timeline/view_homes.h"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/scenario/record_history.h"
#include "replay/timeline/fragmentation_curve.h"
#include "replay/timeline/memory_spans.h"
#include "replay/timeline/occupancy.h"
#include "tests/support/small_history.h"
#include "traces/open.h"

namespace tidemark {
namespace {

using support::SmallHistory;

const std::atomic<bool> kNotCancelled{false};

// Pages at 0x100000 and, of their second half, a view at 0x900000.
SmallHistory viewed() {
    SmallHistory steps;
    steps.reserve(0x100000, 0x80000).map(0x100000, 0x20000).map(0x120000, 0x20000);
    steps.reserve(0x900000, 0x20000).view(0x900000, 0x20000, 0x120000);
    return steps;
}

using Ranges = std::vector<std::pair<std::uint64_t, Bytes>>;

Ranges homes(const ViewHomes& views, std::uint64_t begin, Bytes size) {
    Ranges found;
    views.for_each_home(0, {Address{begin}, size},
                        [&](Range part) { found.emplace_back(to_integer(part.begin), part.size); });
    return found;
}

TEST_CASE("What lies in a view is at home elsewhere, the rest where it is") {
    ViewHomes views;
    const auto view = [](std::uint64_t begin, Bytes size, std::uint64_t home) {
        return Segment{.begin = Address{begin},
                       .size = size,
                       .home = Address{home},
                       .kind = SegmentKind::view};
    };
    views.begin(view(0x1000, 0x100, 0x10));
    views.begin(view(0x1100, 0x100, 0x400));
    views.begin(view(0x1200, 0x100, 0x500));

    CHECK(homes(views, 0x1000, 0x80) == Ranges{{0x10, 0x80}});
    CHECK(homes(views, 0x1080, 0x100) == Ranges{{0x90, 0x80}, {0x400, 0x80}});
    CHECK(homes(views, 0x1180, 0x100) == Ranges{{0x480, 0x100}});  // neighbours at home
    CHECK(homes(views, 0xf00, 0x500) ==
          Ranges{{0xf00, 0x100}, {0x10, 0x100}, {0x400, 0x200}, {0x1300, 0x100}});
    CHECK(homes(views, 0x2000, 0).empty());
    views.end(view(0x1000, 0x100, 0x10));
    CHECK(homes(views, 0x1000, 0x200) == Ranges{{0x1000, 0x100}, {0x400, 0x100}});
}

TEST_CASE("A block in a view takes memory at home, once") {
    const auto history = viewed()
                             .allocate(1, 0x10000, {.address = 0x900000})
                             .allocate(2, 0x8000, {.address = 0x100000})
                             .build();
    const auto last = static_cast<EventIndex>(history->counts().events - 1);

    const std::vector<MemorySpan> spans = memory_spans(*history, last, kNotCancelled);
    const FreeSpace space = free_space(spans);

    REQUIRE(spans.size() == 1);
    CHECK(space.held == 0x40000);
    CHECK(space.free == 0x28000);
    CHECK(space.largest == 0x18000);  // from the block at the beginning to the one in the view
    CHECK(space.gaps == 2);
    CHECK(space.blocks == 2);
    // Pages of 0x20000: both are taken in part.
    CHECK(space.fragmentation == 0x28000);
}

TEST_CASE("A view ends in part, and memory whose home is gone counts in the view") {
    SmallHistory steps = viewed();
    const auto event = [&steps] { return steps.builder().next_event() - 1; };
    steps.unview(0x900000, 0x8000);
    const EventIndex cut = event();
    steps.unview(0x908000, 0x18000).unmap(0x120000, 0x20000).map(0x908000, 0x18000);
    const EventIndex moved = event();
    const auto history = steps.build();

    const Segment rest = history->segment(5);
    CHECK(rest.kind == SegmentKind::view);
    CHECK(rest.begin == Address{0x908000});
    CHECK(rest.home == Address{0x128000});
    CHECK(free_space(memory_spans(*history, cut, kNotCancelled)).held == 0x40000);
    CHECK(free_space(memory_spans(*history, moved, kNotCancelled)).held == 0x38000);
}

// Shares of the picture as bytes x events.
struct Sums {
    double taken = 0;
    double memory = 0;
};

Sums sums_of(const History& history) {
    const AddressLayout layout = AddressLayout::of(history, nullptr, RowSharing::never);
    const OccupancyFrame frame = whole_frame(history, layout, AxisUnit::events, 512, 512);
    const OccupancyHeatmap heatmap =
        draw_occupancy(history, layout, BlockClasses::of(history, BlockTrait::size), frame);
    Sums sums;
    for (const OccupancyCell& cell : heatmap.cells) {
        sums.taken += cell.taken;
        sums.memory += cell.memory;
    }
    const double cell = static_cast<double>(layout.length()) / 512 *
                        static_cast<double>(history.counts().events) / 512 / 255;
    return {sums.taken * cell, sums.memory * cell};
}

TEST_CASE("A run that stitches holds what is reserved, at every event and in every figure") {
    for (const char* const name : {"gpt2_var.pickle.xz", "multistream.pickle.xz"}) {
        INFO(name);
        const std::string path = std::string(TIDEMARK_SOURCE_DIR "/traces/samples/torch/") + name;
        const auto trace = open_trace(path);
        REQUIRE(trace);
        const auto recorded = record_history(**trace, {.trace = path, .policy = "extent"});
        REQUIRE(recorded);
        const auto& history = *recorded->history;
        std::size_t views = 0;
        for (SegmentIndex i = 0; i < history.counts().segments; ++i)
            views += history.segment(i).kind == SegmentKind::view ? 1U : 0U;
        CHECK(views > 0);

        const std::size_t events = history.counts().events;
        const auto curve = FragmentationCurve::create(recorded->history);
        REQUIRE(curve);
        REQUIRE((*curve)->extend(kNotCancelled));
        for (std::size_t i = 0; i < events; i += events / 50) {
            const auto event = static_cast<EventIndex>(i);
            INFO("event " << event);
            const SeriesValues values = history.values(event);
            std::uint64_t live = 0;
            history.for_each_live(event, [&live](BlockIndex) { ++live; });
            const FreeSpace space = free_space(memory_spans(history, event, kNotCancelled));
            CHECK(space.held == values[Series::reserved]);
            CHECK(space.free == values[Series::reserved] - values[Series::active]);
            CHECK(space.blocks == live);
            CHECK(space.fragmentation + space.cached == space.free);
            CHECK((*curve)->fragmentation(event) == space.fragmentation);
        }

        Sums exact;
        for (std::size_t i = 0; i < events; ++i) {
            const SeriesValues values = history.values(static_cast<EventIndex>(i));
            exact.taken += static_cast<double>(values[Series::active]);
            exact.memory += static_cast<double>(values[Series::reserved]);
        }
        const Sums drawn = sums_of(history);
        CHECK(drawn.taken == Approx(exact.taken).epsilon(0.005));
        CHECK(drawn.memory == Approx(exact.memory).epsilon(0.005));
    }
}

// vpmm maps pages a second time before it ends the first mapping; it also holds memory that isn't
// mapped.
TEST_CASE("A run that moves pages never holds more than is reserved") {
    const std::string path = TIDEMARK_SOURCE_DIR "/traces/samples/torch/multistream.pickle.xz";
    const auto trace = open_trace(path);
    REQUIRE(trace);
    const auto recorded = record_history(**trace, {.trace = path, .policy = "vpmm"});
    REQUIRE(recorded);
    const History& history = *recorded->history;
    for (EventIndex event = 0; event < history.counts().events; ++event) {
        INFO("event " << event);
        const Bytes held = free_space(memory_spans(history, event, kNotCancelled)).held;
        REQUIRE(held <= history.values(event)[Series::reserved]);
    }
}

}  // namespace
}  // namespace tidemark
