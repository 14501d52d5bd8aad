// What the mouse does in the view of blocks over time.
#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "tests/viz/shell/sample_session.h"
#include "viz/model/blocks/site_index.h"

using namespace tidemark;
using namespace tidemark::viz;

namespace {

// Where `wanted` is pointed at.
template <class Shown>
std::optional<ImVec2> find_band(Shown& screen, BlockIndex wanted) {
    const Box all = screen.layout().first;
    const Box plot{all.left + 100, all.top + 70, all.right - 40, all.bottom - 40};
    std::optional<ImVec2> at;
    screen.until([&] {
        at = screen.sweep(plot, 9, [&] { return screen.shell.selection().hot_block == wanted; });
        return at.has_value();
    });
    return at;
}

}  // namespace

TEST_CASE("a band says whose block it is, stack first, and a click selects it",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("blocks-over-time"));
    screen.frames(3);
    const Selection& selection = screen.shell.selection();
    const std::optional<ImVec2> weights = find_band(screen, screen.matmul);
    REQUIRE(weights);
    CHECK(selection.described.starts_with("weights"));
    CHECK(has(selection.described, "\nmatmul\nlayer\nmain\nsize"));
    CHECK(has(selection.described, "size\t4.00 MiB"));
    CHECK(has(selection.described, "freed\tnever"));
    CHECK(has(selection.described, "allocated\tevent "));
    screen.frames(20);
    screen.click(*weights);
    CHECK(selection.block == screen.matmul);

    // Older blocks lie below newer ones.
    const std::optional<ImVec2> load = find_band(screen, screen.load);
    const std::optional<ImVec2> second = find_band(screen, screen.second);
    REQUIRE(load);
    REQUIRE(second);
    CHECK(has(selection.described, "lifetime\t"));
    CHECK(weights->y > load->y);
    CHECK(load->y > second->y);
    screen.frames(20);
    screen.click(*second);
    CHECK(selection.block == screen.second);

    // Twice: its life fills the window.
    const Window before = screen.shell.camera().window();
    screen.frames(20);
    screen.double_click(second->x, second->y);
    CHECK(screen.shell.camera().window().length() < before.length());
}

TEST_CASE("what the filter hides keeps its band, and above all bands is nothing",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("blocks-over-time"));
    REQUIRE(screen.shell.find("matmul"));
    screen.frames(3);
    CHECK(find_band(screen, screen.load).has_value());
    const Selection& selection = screen.shell.selection();
    const Box all = screen.layout().first;
    const auto above = screen.sweep({all.left + 100, all.top + 70, all.right - 40, all.bottom - 40},
                                    9, [&] { return has(selection.described, "reserved\t"); });
    REQUIRE(above);
    CHECK(has(selection.described, "allocated\t"));
    CHECK_FALSE(selection.hot_block);
}
