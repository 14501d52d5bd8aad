// Runs of different lengths in one picture: what has ended is no longer drawn, and its swatch has
// the colour of its curve.
#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "tests/support/small_history.h"
#include "viz/draw/time_area.h"
#include "viz/headless/still.h"
#include "viz/shell/layout.h"

namespace tidemark::viz {
namespace {

// Two runs: one of 64 MiB for a second, the other of 96 MiB for ten.
struct TwoLengths {
    Session session;

    TwoLengths() {
        for (const Nanoseconds seconds : {1, 10}) {
            support::SmallHistory history;
            history.segment(0x100000, seconds == 1 ? 64_MiB : 96_MiB)
                .at(1'000'000)
                .allocate(1, 48_MiB);
            history.at(seconds * 1'000'000'000).idle();
            ViewedRun run;
            run.label = run.trace_name = std::to_string(seconds);
            run.history = history.build();
            run.state.phase = LoadState::Phase::ready;
            session.runs.push_back(std::move(run));
        }
    }

    Bitmap still(const char* view, std::size_t shown) {
        StillOptions options;
        options.screen = {1000, 700, 1, FontChoice::built_in};
        options.views = {view};
        options.location = "run=" + std::to_string(shown);
        const Result<Bitmap> bitmap = draw_still(session, options);
        REQUIRE(bitmap);
        return *bitmap;
    }
};

std::set<Colour> colours_in(const Bitmap& bitmap, const Box& box) {
    std::set<Colour> colours;
    for (auto y = static_cast<std::size_t>(box.top); y < static_cast<std::size_t>(box.bottom); ++y)
        for (auto x = static_cast<std::size_t>(box.left); x < static_cast<std::size_t>(box.right);
             ++x)
            colours.insert(bitmap.pixels[y * bitmap.width + x]);
    return colours;
}

// Of the first main view, where its curves are; a tenth of the time is at its very left.
Box plot_of(const Bitmap& bitmap, bool has_window_alone = false) {
    const auto width = static_cast<float>(bitmap.width);
    const auto height = static_cast<float>(bitmap.height);
    Splits splits;
    splits.strip_height = has_window_alone ? 0 : 54;
    splits.has_side = splits.has_table = !has_window_alone;
    const Layout layout = lay_out(width, height, 1, 13, splits);
    return plot_box(Canvas(nullptr, dark_theme(), 1), layout.first);
}

}  // namespace

TEST_CASE("a run's curves end where it does", "[viz][ended]") {
    TwoLengths opened;
    const Theme& theme = dark_theme();
    for (const char* view : {"timeline", "compare"}) {
        INFO(view);
        const Bitmap bitmap = opened.still(view, 0);
        const Box plot = plot_of(bitmap, std::string_view(view) == "compare");
        const float end = plot.left + plot.width() / 10;
        const auto before = colours_in(bitmap, {plot.left, plot.top + 60, end, plot.bottom});
        CHECK(before.contains(theme.allocated));
        // Below the legend, and above the second run's plot.
        const auto after =
            colours_in(bitmap, {end + 2, plot.top + 60, plot.right, plot.top + plot.height() / 4});
        CHECK_FALSE(after.contains(theme.allocated));
        CHECK_FALSE(after.contains(theme.reserved));
    }
}

TEST_CASE("the swatch of a run has the colour of its curve", "[viz][ended]") {
    TwoLengths opened;
    for (const std::size_t shown : {0U, 1U}) {
        const Bitmap bitmap = opened.still("timeline", shown);
        const auto header = colours_in(bitmap, {0, 0, 500, 25});
        const Box plot = plot_of(bitmap);
        const auto curves = colours_in(bitmap, {plot.left, plot.top + 60, plot.right, plot.bottom});
        for (const std::size_t run : {0U, 1U}) {
            const Colour colour = run_colour(dark_theme(), run, shown);
            INFO("run " << run << ", shown " << shown);
            CHECK(header.contains(colour));
            CHECK(curves.contains(colour));
        }
    }
}

}  // namespace tidemark::viz
