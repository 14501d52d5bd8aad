// Labels that would cover each other: in a plot they move down, at an axis to the side.
#include <array>
#include <vector>

#include <catch2/catch.hpp>

#include "viz/draw/time_area.h"
#include "viz/headless/offscreen.h"
#include "viz/views/timeline_plot.h"

namespace tidemark::viz {

TEST_CASE("labels of a plot don't cover each other", "[viz][labels]") {
    Offscreen offscreen({400, 300, 1, FontChoice::built_in});
    offscreen.begin(dark_theme());
    Canvas canvas(ImGui::GetForegroundDrawList(), dark_theme(), 1);
    std::vector<Box> labels;
    const ByteScale scale{{0, 0, 400, 300}, 100};
    draw_bound(canvas, scale, 2000, "capacity", dark_theme().problem, labels);
    draw_bound(canvas, scale, 1000, "limit", dark_theme().warning, labels);
    draw_bound(canvas, scale, 97, "limit", dark_theme().warning, labels);
    put_label(canvas, {30, 5}, "peak", dark_theme().text, Align::left, labels);
    REQUIRE(labels.size() == 4);
    for (std::size_t i = 0; i < labels.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            CHECK_FALSE(labels[i].overlaps(labels[j]));
    offscreen.skip();
}

TEST_CASE("two labels of an axis stand side by side", "[viz][labels]") {
    const Reach room{20, 380};
    CHECK(beside(300, 20, {100, 140}, room) == 300);  // nothing is in the way
    CHECK(beside(125, 20, {100, 140}, room) == 160);  // on the side where it was
    CHECK(beside(115, 20, {100, 140}, room) == 80);
    CHECK(beside(30, 20, {10, 50}, room) == 70);  // but within the room
    CHECK(beside(370, 20, {345, 385}, room) == 325);
}

}  // namespace tidemark::viz
