// Tips at the four corners and in the middle of the smallest window, and at twice the scale: two
// lines, within the window, never over the point. Against golden pictures.
#include <array>
#include <string>

#include <catch2/catch.hpp>

#include "tests/viz/headless/golden.h"
#include "viz/draw/tip.h"
#include "viz/headless/offscreen.h"

namespace tidemark::viz {
namespace {

const std::array<TipFigure, 6> kFigures{{
    {rgb(0xf0e442), "reserved", "8.30 GiB"},
    {rgb(0x0072b2), "allocated", "6.22 GiB"},
    {rgb(0xe69f00), "cached", "1.74 GiB"},
    {0, "event 15,537", "allocate"},
    {0, "tag",
     "a tag that is much longer than there is room for in the line of such a small window"},
    {0, {}, "and a sentence"},
}};

Bitmap tip_at(ImVec2 at, std::string_view what, float scale) {
    const auto size = [scale](float points) { return static_cast<std::uint32_t>(points * scale); };
    Offscreen screen({size(900), size(600), scale, FontChoice::built_in});
    screen.begin(dark_theme());
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::Begin("tips", nullptr, ImGuiWindowFlags_NoDecoration);
    Canvas canvas(ImGui::GetWindowDrawList(), dark_theme(), scale);
    const ImVec2 screen_size = ImGui::GetIO().DisplaySize;
    const Box card = draw_tip(canvas, at, what, kFigures);
    canvas.fill({at.x - 3, at.y - 3, at.x + 3, at.y + 3}, dark_theme().problem);
    CHECK_FALSE(card.contains(at));
    CHECK(card.left >= 0);
    CHECK(card.top >= 0);
    CHECK(card.right <= screen_size.x);
    CHECK(card.bottom <= screen_size.y);
    CHECK(card.height() < 3 * canvas.line_height() + 16 * scale);
    ImGui::End();
    return screen.end();
}

}  // namespace

TEST_CASE("tips are two lines within the window, beside the point") {
    const std::string name(200, 'n');
    for (const float scale : {1.0F, 2.0F}) {
        const float right = 900 * scale - 1;
        const float bottom = 600 * scale - 1;
        int corner = 0;
        for (const ImVec2 at :
             {ImVec2{0, 0}, ImVec2{right, 0}, ImVec2{0, bottom}, ImVec2{right, bottom}})
            check_golden("tip-" + std::to_string(++corner) + (scale > 1 ? "-large" : ""),
                         tip_at(at, "8.231 s", scale));
        for (float x = 0; x <= right; x += 90 * scale)
            tip_at({x, bottom / 2}, name, scale);
    }
}

}  // namespace tidemark::viz
