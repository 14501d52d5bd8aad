// The rasteriser against a naive one, which asks every pixel about every triangle.
#include "viz/headless/rasteriser.h"

#include <array>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "tests/support/property.h"

namespace tidemark::viz {
namespace {

constexpr Colour kGround = rgb(0x102030);
constexpr Colour kInk = rgb(0xe08040);
constexpr std::uint32_t kSide = 24;

Bitmap blank(std::uint32_t width = kSide, std::uint32_t height = kSide) {
    Bitmap bitmap;
    bitmap.width = width;
    bitmap.height = height;
    bitmap.pixels.assign(std::size_t{width} * height, kGround);
    return bitmap;
}

ImDrawVert vertex(float x, float y, Colour colour, float u = 0, float v = 0) {
    ImDrawVert result{};
    result.pos = {x, y};
    result.uv = {u, v};
    result.col = colour;
    return result;
}

// Draw data made by hand.
struct HandDrawn {
    ImDrawList list{nullptr};
    std::array<ImDrawList*, 1> lists{&list};

    void command(ImVec4 clip = {0, 0, kSide, kSide}, const Texture* texture = nullptr) {
        ImDrawCmd made;
        made.ClipRect = clip;
        made.TextureId = const_cast<Texture*>(texture);
        made.IdxOffset = static_cast<unsigned>(list.IdxBuffer.Size);
        made.VtxOffset = static_cast<unsigned>(list.VtxBuffer.Size);
        list.CmdBuffer.push_back(made);
    }

    void triangle(const ImDrawVert& a, const ImDrawVert& b, const ImDrawVert& c) {
        for (const ImDrawVert& corner : {a, b, c}) {
            list.IdxBuffer.push_back(static_cast<ImDrawIdx>(
                list.VtxBuffer.Size - static_cast<int>(list.CmdBuffer.back().VtxOffset)));
            list.VtxBuffer.push_back(corner);
        }
        list.CmdBuffer.back().ElemCount += 3;
    }

    // As ImGui makes rectangles, from the top left clockwise.
    void quad(const std::array<ImDrawVert, 4>& corners) {
        const int first = list.VtxBuffer.Size - static_cast<int>(list.CmdBuffer.back().VtxOffset);
        for (const ImDrawVert& corner : corners)
            list.VtxBuffer.push_back(corner);
        for (const int i : {0, 1, 2, 0, 2, 3})
            list.IdxBuffer.push_back(static_cast<ImDrawIdx>(first + i));
        list.CmdBuffer.back().ElemCount += 6;
    }

    void rectangle(float left, float top, float right, float bottom, Colour colour) {
        quad({vertex(left, top, colour), vertex(right, top, colour), vertex(right, bottom, colour),
              vertex(left, bottom, colour)});
    }

    void draw(Bitmap& target) {
        ImDrawData data;
        data.Valid = true;
        data.CmdLists = lists.data();
        data.CmdListsCount = 1;
        data.DisplaySize = {static_cast<float>(target.width), static_cast<float>(target.height)};
        rasterise(data, target);
    }

    Bitmap drawn() {
        Bitmap target = blank();
        draw(target);
        return target;
    }
};

// Whether the middle of a pixel is within a triangle, by the rule that the header promises, in
// whole 1/256 pixels.
bool covers(const std::array<ImVec2, 3>& corners, std::uint32_t column, std::uint32_t row) {
    std::array<std::array<long long, 2>, 3> p{};
    for (std::size_t i = 0; i < 3; ++i)
        p[i] = {std::llround(static_cast<double>(corners[i].x) * 256),
                std::llround(static_cast<double>(corners[i].y) * 256)};
    const auto cross = [](const auto& a, const auto& b, long long x, long long y) {
        return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
    };
    const long long area = cross(p[0], p[1], p[2][0], p[2][1]);
    if (area == 0)
        return false;
    if (area < 0)
        std::swap(p[1], p[2]);
    const long long x = column * 256LL + 128;
    const long long y = row * 256LL + 128;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& a = p[i];
        const auto& b = p[(i + 1) % 3];
        const long long side = cross(a, b, x, y);
        const bool top_or_left = b[1] < a[1] || (b[1] == a[1] && b[0] > a[0]);
        if (side < 0 || (side == 0 && !top_or_left))
            return false;
    }
    return true;
}

ImVec2 random_point() {
    // Quarters of pixels, so that middles are hit exactly now and then; also beyond the picture.
    const auto coordinate = [] { return static_cast<float>(*rc::gen::inRange(-40, 140)) / 4; };
    const float x = coordinate();
    return {x, coordinate()};
}

// All of a triangle's pixels are `ink`, all others `ground`.
void require_as_naive(const Bitmap& drawn, const std::array<ImVec2, 3>& corners, Colour ink) {
    for (std::uint32_t y = 0; y < drawn.height; ++y)
        for (std::uint32_t x = 0; x < drawn.width; ++x)
            RC_ASSERT(drawn.pixels[y * drawn.width + x] == (covers(corners, x, y) ? ink : kGround));
}

}  // namespace

TEST_CASE("a triangle has the pixels whose middles it covers, in either direction") {
    const std::string found = support::counterexample(support::effort(200), [] {
        const std::array<ImVec2, 3> corners = {random_point(), random_point(), random_point()};
        HandDrawn scene;
        scene.command();
        scene.triangle(vertex(corners[0].x, corners[0].y, kInk),
                       vertex(corners[1].x, corners[1].y, kInk),
                       vertex(corners[2].x, corners[2].y, kInk));
        const Bitmap bitmap = scene.drawn();
        require_as_naive(bitmap, corners, kInk);
    });
    INFO(found);
    CHECK(found.empty());
}

TEST_CASE("triangles that share edges draw every pixel once") {
    const std::string found = support::counterexample(support::effort(200), [] {
        // A fan about a point within a square: half transparent, so that twice would be seen.
        const float x = static_cast<float>(*rc::gen::inRange(9, 88)) / 4;
        const float y = static_cast<float>(*rc::gen::inRange(9, 88)) / 4;
        const Colour half = (kInk & 0xffffffU) | 0x80000000U;
        const std::array<ImVec2, 4> square = {ImVec2{2, 2}, {22, 2}, {22, 22}, {2, 22}};
        HandDrawn scene;
        scene.command();
        for (std::size_t i = 0; i < 4; ++i)
            scene.triangle(vertex(x, y, half), vertex(square[i].x, square[i].y, half),
                           vertex(square[(i + 1) % 4].x, square[(i + 1) % 4].y, half));
        const Bitmap bitmap = scene.drawn();
        HandDrawn once;
        once.command();
        once.rectangle(2, 2, 22, 22, half);
        const Bitmap expected = once.drawn();
        RC_ASSERT(bitmap.pixels == expected.pixels);
    });
    INFO(found);
    CHECK(found.empty());
}

TEST_CASE("a rectangle has the pixels of its two triangles") {
    const std::string found = support::counterexample(support::effort(200), [] {
        const ImVec2 a = random_point();
        const ImVec2 c = random_point();
        HandDrawn scene;
        scene.command();
        scene.rectangle(std::min(a.x, c.x), std::min(a.y, c.y), std::max(a.x, c.x),
                        std::max(a.y, c.y), kInk);
        const Bitmap bitmap = scene.drawn();
        HandDrawn halves;
        halves.command();
        halves.triangle(vertex(a.x, a.y, kInk), vertex(c.x, a.y, kInk), vertex(c.x, c.y, kInk));
        halves.triangle(vertex(c.x, c.y, kInk), vertex(a.x, c.y, kInk), vertex(a.x, a.y, kInk));
        const Bitmap expected = halves.drawn();
        RC_ASSERT(bitmap.pixels == expected.pixels);
    });
    INFO(found);
    CHECK(found.empty());
}

TEST_CASE("nothing is drawn outside of a command's clip") {
    HandDrawn scene;
    scene.command({5, 6, 9, 8});
    scene.rectangle(0, 0, kSide, kSide, kInk);
    scene.triangle(vertex(-10, -10, kInk), vertex(60, -10, kInk), vertex(-10, 60, kInk));
    scene.command({20, 20, 1000, 1000});  // larger than the picture
    scene.rectangle(-50, -50, 500, 500, kInk);
    const Bitmap bitmap = scene.drawn();
    for (std::uint32_t y = 0; y < kSide; ++y)
        for (std::uint32_t x = 0; x < kSide; ++x) {
            const bool inside = (x >= 5 && x < 9 && y >= 6 && y < 8) || (x >= 20 && y >= 20);
            REQUIRE(bitmap.pixels[y * kSide + x] == (inside ? kInk : kGround));
        }
}

TEST_CASE("what is transparent is mixed in, and what is mixed stays opaque") {
    const auto alpha = GENERATE(0U, 1U, 64U, 128U, 200U, 254U, 255U);
    HandDrawn scene;
    scene.command();
    scene.rectangle(0, 0, 4, 4, (kInk & 0xffffffU) | alpha << 24);
    const Bitmap bitmap = scene.drawn();
    for (const unsigned shift : {0U, 8U, 16U}) {
        const double over = kInk >> shift & 0xffU;
        const double under = kGround >> shift & 0xffU;
        const double expected = (over * alpha + under * (255 - alpha)) / 255;
        CHECK(static_cast<double>(bitmap.pixels[0] >> shift & 0xffU) ==
              Approx(expected).margin(1.0));
    }
    CHECK(bitmap.pixels[0] >> 24 == 255);
}

TEST_CASE("colours run evenly over a triangle") {
    HandDrawn scene;
    scene.command({0, 0, 256, 4});
    scene.triangle(vertex(0, 0, rgb(0x000000)), vertex(256, 0, rgb(0xff0000)),
                   vertex(0, 8, rgb(0x000000)));
    Bitmap bitmap = blank(256, 4);
    scene.draw(bitmap);
    for (std::uint32_t x = 0; x < 230; ++x)
        CHECK(std::abs(static_cast<int>(bitmap.pixels[x] & 0xffU) - static_cast<int>(x)) <= 1);
}

TEST_CASE("a texture is taken without smoothing, wherever its rectangle lies") {
    const std::string found = support::counterexample(support::effort(200), [] {
        const std::array<Colour, 6> texels = {rgb(0x010203), rgb(0x405060), rgb(0x708090),
                                              rgb(0xa0b0c0), rgb(0xd0e0f0), rgb(0x102938)};
        const Texture texture{3, 2, nullptr, texels.data()};
        const float left = static_cast<float>(*rc::gen::inRange(-20, 60)) / 4;
        const float top = static_cast<float>(*rc::gen::inRange(-20, 60)) / 4;
        const float width = static_cast<float>(*rc::gen::inRange(1, 80)) / 4;
        const float height = static_cast<float>(*rc::gen::inRange(1, 80)) / 4;
        constexpr Colour kWhite = 0xffffffffU;
        HandDrawn scene;
        scene.command({0, 0, kSide, kSide}, &texture);
        scene.quad({vertex(left, top, kWhite, 0, 0), vertex(left + width, top, kWhite, 1, 0),
                    vertex(left + width, top + height, kWhite, 1, 1),
                    vertex(left, top + height, kWhite, 0, 1)});
        const Bitmap bitmap = scene.drawn();
        for (std::uint32_t y = 0; y < kSide; ++y)
            for (std::uint32_t x = 0; x < kSide; ++x) {
                const double u = (x + 0.5 - left) / width * 3;
                const double v = (y + 0.5 - top) / height * 2;
                const bool inside = u >= 0 && u < 3 && v >= 0 && v < 2;
                // On the border of two texels either will do.
                const bool border =
                    std::abs(u - std::round(u)) < 1e-6 || std::abs(v - std::round(v)) < 1e-6;
                if (!inside)
                    RC_ASSERT(bitmap.pixels[y * kSide + x] == kGround);
                else if (!border)
                    RC_ASSERT(
                        bitmap.pixels[y * kSide + x] ==
                        texels[static_cast<std::size_t>(v) * 3 + static_cast<std::size_t>(u)]);
            }
    });
    INFO(found);
    CHECK(found.empty());
}

TEST_CASE("letters are copied with their alpha in the text's colour") {
    const std::array<std::uint8_t, 4> letters = {0, 255, 128, 64};
    const Texture texture{2, 2, letters.data(), nullptr};
    HandDrawn scene;
    scene.command({0, 0, kSide, kSide}, &texture);
    scene.quad({vertex(3, 3, kInk, 0, 0), vertex(5, 3, kInk, 1, 0), vertex(5, 5, kInk, 1, 1),
                vertex(3, 5, kInk, 0, 1)});
    const Bitmap bitmap = scene.drawn();
    CHECK(bitmap.pixels[3 * kSide + 3] == kGround);
    CHECK(bitmap.pixels[3 * kSide + 4] == kInk);
    const auto red = [&bitmap](std::size_t index) { return bitmap.pixels[index] & 0xffU; };
    CHECK(red(4 * kSide + 3) == Approx(0x10 + (0xe0 - 0x10) * 128 / 255.0).margin(1));
    CHECK(red(4 * kSide + 4) == Approx(0x10 + (0xe0 - 0x10) * 64 / 255.0).margin(1));
}

TEST_CASE("a command's vertices begin at its offset") {
    HandDrawn scene;
    scene.command();
    scene.rectangle(0, 0, 2, 2, rgb(0x00ff00));
    scene.command();  // its first index is 0 again
    scene.rectangle(10, 10, 12, 12, kInk);
    REQUIRE(scene.list.IdxBuffer[6] == 0);
    const Bitmap bitmap = scene.drawn();
    CHECK(bitmap.pixels[10 * kSide + 10] == kInk);
    CHECK(bitmap.pixels[0] == rgb(0x00ff00));
}

TEST_CASE("what is no number, far away or not there is not drawn, or cut off") {
    constexpr float kFar = 1e30F;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    HandDrawn scene;
    scene.command();
    scene.triangle(vertex(nan, 0, kInk), vertex(5, 0, kInk), vertex(0, 5, kInk));
    scene.rectangle(0, nan, 5, 5, kInk);
    scene.list.IdxBuffer[4] = 60'000;
    const Bitmap bitmap = scene.drawn();
    CHECK(bitmap.pixels == blank().pixels);

    HandDrawn far;
    far.command();
    far.rectangle(-kFar, 4, kFar, kFar, kInk);
    far.triangle(vertex(-kFar, -kFar, kInk), vertex(kFar, -kFar, kInk), vertex(0, 2, kInk));
    const Bitmap cut = far.drawn();
    CHECK(cut.pixels[0] == kInk);
    CHECK(cut.pixels[3 * kSide + 12] == kGround);
    CHECK(cut.pixels.back() == kInk);
}

}  // namespace tidemark::viz
