// One scene of all that a canvas draws, against its golden picture: letters, lines, fills, hatches,
// pictures and ImGui's own widgets, in both themes.
#include <array>
#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "tests/viz/headless/golden.h"
#include "viz/draw/canvas.h"
#include "viz/headless/offscreen.h"

namespace tidemark::viz {
namespace {

void draw_colours(Canvas& canvas, float top) {
    const Theme& theme = canvas.theme();
    for (std::size_t i = 0; i < 24; ++i)
        canvas.fill(
            {20 + 24 * static_cast<float>(i), top, 40 + 24 * static_cast<float>(i), top + 20},
            category(theme, i));
    for (int i = 0; i < 576; ++i)
        canvas.vertical(20 + static_cast<float>(i), top + 28, top + 48, ramp(i / 575.0));
    const std::array<std::pair<const char*, Colour>, 8> meanings = {{
        {"reserved", theme.reserved},
        {"allocated", theme.allocated},
        {"active", theme.active},
        {"requested", theme.requested},
        {"host", theme.host},
        {"disk", theme.disk},
        {"warning", theme.warning},
        {"problem", theme.problem},
    }};
    float x = 20;
    for (const auto& [name, colour] : meanings) {
        canvas.fill({x, top + 56, x + 60, top + 76}, colour);
        canvas.text({x + 30, top + 80}, name, theme.faint_text, Align::centre);
        x += 73;
    }
}

void draw_shapes(Canvas& canvas, float top) {
    const Theme& theme = canvas.theme();
    canvas.fill({20, top, 600, top + 90}, theme.plot);
    canvas.outline({20, top, 600, top + 90}, theme.border);
    for (int i = 1; i < 5; ++i)
        canvas.horizontal(top + 18 * static_cast<float>(i), 21, 599, theme.grid);
    canvas.hatch({40, top + 20, 140, top + 70}, theme.cached, theme.fragmentation);
    canvas.dashed_horizontal(top + 10, 30, 590, theme.warning);
    canvas.triangle({200, top + 20}, {230, top + 70}, {170, top + 70}, theme.problem);
    ImVec2 last{260, top + 45};
    for (int i = 1; i <= 60; ++i) {
        const ImVec2 next{260 + 2 * static_cast<float>(i),
                          top + 45 - 25 * static_cast<float>(std::sin(i / 6.0))};
        canvas.line(last, next, theme.requested, 1.5F);
        last = next;
    }
    canvas.label({420, top + 30}, "12.3 GiB", theme.text);
    for (int i = 0; i < 8; ++i)
        canvas.text_within(
            {500, top + 2 + 11 * static_cast<float>(i), 520 + 10 * static_cast<float>(i),
             top + 12 + 11 * static_cast<float>(i)},
            "fragmentation", theme.text);
}

void draw_primitives(Canvas& canvas, float top) {
    static Bitmap bitmap = [] {
        Bitmap made;
        made.width = 64;
        made.height = 16;
        for (std::uint32_t i = 0; i < 64 * 16; ++i)
            made.pixels.push_back(ramp(((i % 64) ^ (i / 64)) / 63.0));
        return made;
    }();
    canvas.image({20, top, 340, top + 80}, bitmap);
    canvas.text({360, top}, "\u00b5s \u00b7 \u2192 \u2264 \u2013 \u2026", canvas.theme().text);
    canvas.text({600, top + 20}, "to the right", canvas.theme().accent, Align::right);
}

void draw_widgets(const Theme& theme) {
    ImGui::SetNextWindowPos({360, 350});
    ImGui::SetNextWindowSize({240, 60});
    ImGui::Begin("widgets", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove);
    static bool ticked = true;
    ImGui::Checkbox("follow", &ticked);
    ImGui::SameLine();
    ImGui::Button("Replay with...");
    ImGui::TextDisabled("%s", theme.dark ? "dark" : "light");
    ImGui::End();
}

Bitmap scene(const Theme& theme, float scale) {
    Offscreen screen({620, 440, scale, FontChoice::built_in});
    for (int frame = 0; frame < 3; ++frame) {
        if (frame > 0)
            screen.skip();
        screen.begin(theme);
        Canvas canvas(ImGui::GetBackgroundDrawList(), theme, scale);
        draw_colours(canvas, 20);
        draw_shapes(canvas, 140);
        draw_primitives(canvas, 260);
        draw_widgets(theme);
    }
    return screen.end();
}

}  // namespace

TEST_CASE("all that a canvas draws looks as it did") {
    check_golden("primitives-dark", scene(dark_theme(), 1));
    check_golden("primitives-light", scene(light_theme(), 1));
    check_golden("primitives-large", scene(dark_theme(), 2));
}

TEST_CASE("a picture drawn twice has the same pixels") {
    CHECK(scene(dark_theme(), 1).pixels == scene(dark_theme(), 1).pixels);
}

TEST_CASE("pictures differ where somebody would see it") {
    const Bitmap one = scene(dark_theme(), 1);
    Bitmap other = one;
    CHECK(difference(one, other).share == 0);
    other.pixels[0] ^= 0x03;  // no one would
    CHECK(difference(one, other).share == 0);
    other.pixels[0] ^= 0x80;
    CHECK(difference(one, other).share == Approx(1.0 / (620 * 440)));
    other.width = 1;
    CHECK(difference(one, other).share == 1);
}

}  // namespace tidemark::viz
