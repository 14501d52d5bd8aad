// The canvas, looked at through the software rasteriser.
#include "viz/draw/canvas.h"

#include <string>

#include <catch2/catch.hpp>

#include "viz/headless/offscreen.h"

namespace tidemark::viz {
namespace {

constexpr Colour kInk = rgb(0xff8000);

// Draws a frame of `width` x `height` with the built-in font and returns its pixels.
template <class Draw>
Bitmap drawn(const Draw& draw, std::uint32_t width = 200, std::uint32_t height = 60) {
    Offscreen screen({width, height, 1, FontChoice::built_in});
    screen.begin(dark_theme());
    Canvas canvas(ImGui::GetBackgroundDrawList(), dark_theme(), 1);
    draw(canvas);
    return screen.end();
}

std::size_t count_of(const Bitmap& bitmap, Colour colour) {
    return static_cast<std::size_t>(std::count(bitmap.pixels.begin(), bitmap.pixels.end(), colour));
}

Colour at(const Bitmap& bitmap, std::size_t x, std::size_t y) {
    return bitmap.pixels[y * bitmap.width + x];
}

// The columns that differ from the ground: [first, last].
std::pair<std::size_t, std::size_t> extent(const Bitmap& bitmap) {
    std::pair<std::size_t, std::size_t> found{bitmap.width, 0};
    for (std::size_t i = 0; i < bitmap.pixels.size(); ++i)
        if (bitmap.pixels[i] != dark_theme().ground) {
            found.first = std::min(found.first, i % bitmap.width);
            found.second = std::max(found.second, i % bitmap.width);
        }
    return found;
}

}  // namespace

TEST_CASE("lines along the axes are one pixel wide, wherever they lie") {
    const float offset = GENERATE(10.0F, 10.2F, 10.5F, 10.9F);
    const Bitmap bitmap = drawn([offset](Canvas& canvas) {
        canvas.vertical(offset, 5, 25, kInk);
        canvas.horizontal(offset + 30, 50, 70, kInk);
    });
    CHECK(count_of(bitmap, kInk) == 40);
    CHECK(at(bitmap, 10, 5) == kInk);
    CHECK(at(bitmap, 50, 40) == kInk);
}

TEST_CASE("an outline lies within its box and leaves the inside alone") {
    const Bitmap bitmap = drawn([](Canvas& canvas) { canvas.outline({10, 10, 30, 20}, kInk, 2); });
    CHECK(count_of(bitmap, kInk) == 20 * 10 - 16 * 6);
    CHECK(at(bitmap, 10, 10) == kInk);
    CHECK(at(bitmap, 29, 19) == kInk);
    CHECK(at(bitmap, 12, 12) == dark_theme().ground);
}

TEST_CASE("a hatch has two colours, and its stripes stay when the box grows or is clipped") {
    const Colour stripes = rgb(0x00ff00);
    const Bitmap small = drawn([&](Canvas& canvas) {
        canvas.hatch({10, 10, 60, 40}, kInk, stripes);
    });
    CHECK(count_of(small, kInk) + count_of(small, stripes) == 50 * 30);
    CHECK(count_of(small, stripes) == Approx(50 * 30 / 3.0).epsilon(0.1));
    const Bitmap clipped = drawn([&](Canvas& canvas) {
        canvas.clip({10, 10, 60, 40});
        canvas.hatch({-5000, -5000, 5000, 5000}, kInk, stripes);
        canvas.unclip();
    });
    CHECK(clipped.pixels == small.pixels);
}

TEST_CASE("text that doesn't fit ends in an ellipsis, and none is drawn where nothing fits") {
    const std::string word = "fragmentation";
    const auto width = [&word](float room, Align align = Align::left) {
        float drawn_width = 0;
        const Bitmap bitmap = drawn([&](Canvas& canvas) {
            drawn_width = canvas.text_within({20, 10, 20 + room, 40}, word, kInk, align);
        });
        const auto [first, last] = extent(bitmap);
        if (drawn_width > 0) {
            CHECK(first >= 20);
            CHECK(static_cast<float>(last) < 20 + room);
        } else {
            CHECK(first > last);
        }
        return drawn_width;
    };
    const float whole = width(160);
    CHECK(whole == 7 * 13);
    CHECK(width(7 * 13) == whole);
    for (const Align align : {Align::left, Align::centre, Align::right}) {
        const float cut = width(60, align);
        CHECK(cut > 45);
        CHECK(cut <= 60);
    }
    CHECK(width(20) == 0);
    CHECK(width(0) == 0);
}

TEST_CASE("no text is nothing, with a place in memory or without") {
    for (const std::string_view nothing : {std::string_view(), std::string_view("")})
        drawn([nothing](Canvas& canvas) {
            CHECK(canvas.text_width(nothing) == 0);
            CHECK(canvas.text({5, 5}, nothing, kInk) == 0);
            CHECK(canvas.text_within({0, 0, 50, 20}, nothing, kInk) == 0);
            canvas.label({5, 5}, nothing, kInk);
        });
}

TEST_CASE("text is cut between letters, not between their bytes") {
    const std::string word = "\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc";
    for (float room = 20; room < 70; room += 1)
        drawn([&](Canvas& canvas) {
            const float width = canvas.text_within({0, 0, room, 20}, word, kInk);
            CHECK(std::fmod(width, 7.0F) == 0);
        });
}

TEST_CASE("signs that a font lacks are shown by others, not by a question mark") {
    Offscreen screen({64, 64, 1, FontChoice::built_in});
    screen.begin(dark_theme());
    const ImFont& font = *ImGui::GetFont();
    const auto same = [&font](ImWchar a, ImWchar b) {
        return font.FindGlyph(a)->U0 == font.FindGlyph(b)->U0;
    };
    CHECK(same(0x2192, '>'));
    CHECK(same(0x2013, '-'));
    CHECK(same(0x2026, 0x85));
    CHECK_FALSE(same(0x2026, '?'));
    screen.skip();
}

TEST_CASE("very long text and very many shapes stay within the indices' sixteen bits") {
    const std::string text(100'000, 'm');
    const Bitmap bitmap = drawn(
        [&text](Canvas& canvas) {
            canvas.text({0, 0}, text, kInk);
            for (int i = 0; i < 40'000; ++i)
                canvas.fill({0, 20, 10, 30}, kInk);
            canvas.hatch({0, 30, 200, 60}, kInk, rgb(0x00ff00), 3);
            canvas.fill({20, 20, 30, 30}, rgb(0x0000ff));
        },
        400, 60);
    CHECK(at(bitmap, 5, 25) == kInk);
    CHECK(at(bitmap, 25, 25) == rgb(0x0000ff));
}

TEST_CASE("a picture is shown pixel by pixel, and one without pixels not at all") {
    Bitmap source;
    source.width = 2;
    source.height = 1;
    source.pixels = {rgb(0xff0000), rgb(0x0000ff)};
    const Bitmap bitmap = drawn([&source](Canvas& canvas) {
        canvas.image({10, 10, 30, 14}, source);
    });
    CHECK(count_of(bitmap, rgb(0xff0000)) == 40);
    CHECK(at(bitmap, 19, 13) == rgb(0xff0000));
    CHECK(at(bitmap, 20, 13) == rgb(0x0000ff));
    source.pixels.pop_back();
    CHECK(extent(drawn([&source](Canvas& canvas) {
              canvas.image({0, 0, 9, 9}, source);
          })).first == 200);
}

TEST_CASE("fonts grow with the scale and never fail") {
    for (const FontChoice choice : {FontChoice::built_in, FontChoice::system})
        for (const float scale : {0.1F, 0.75F, 1.0F, 1.5F, 2.0F, 3.0F, 9.0F}) {
            ImFontAtlas atlas;
            const Fonts fonts = load_fonts(atlas, scale, choice);
            REQUIRE(fonts.text != nullptr);
            REQUIRE(fonts.fixed != nullptr);
            REQUIRE(fonts.heading != nullptr);
            CHECK(fonts.text->FontSize >= 12);
            CHECK(fonts.text->FontSize <= 48);
            CHECK(atlas.Fonts.Size == 3);
        }
}

}  // namespace tidemark::viz
