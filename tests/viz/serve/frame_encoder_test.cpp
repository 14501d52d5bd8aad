// Frames as differences: what changed, all of it, and little more.
#include "viz/serve/frame_encoder.h"

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/viz/serve/frame_bytes.h"

namespace tidemark::viz {
namespace {

constexpr Colour kGround = 0xff181512U;

Bitmap blank(std::uint32_t width, std::uint32_t height) {
    Bitmap bitmap;
    bitmap.width = width;
    bitmap.height = height;
    bitmap.pixels.assign(std::size_t{width} * height, kGround);
    return bitmap;
}

void paint(Bitmap& bitmap, std::uint32_t x, std::uint32_t y, Colour colour) {
    bitmap.pixels[std::size_t{y} * bitmap.width + x] = colour;
}

}  // namespace

TEST_CASE("what is the same has no boxes, and what has another size is one") {
    const Bitmap bitmap = blank(100, 50);
    CHECK(changed_boxes(bitmap, bitmap).empty());
    CHECK(changed_boxes(bitmap, Bitmap{}).empty());
    CHECK(changed_boxes(bitmap, blank(100, 51)) == std::vector<PixelBox>{{0, 0, 100, 51}});
    CHECK(changed_boxes({}, bitmap) == std::vector<PixelBox>{{0, 0, 100, 50}});
}

TEST_CASE("a pixel changes its tile, and neighbours in a row are one box") {
    const Bitmap before = blank(100, 50);
    Bitmap now = before;
    paint(now, 0, 0, 0xffffffffU);
    CHECK(changed_boxes(before, now) == std::vector<PixelBox>{{0, 0, 16, 16}});
    paint(now, 20, 15, 0xffffffffU);
    CHECK(changed_boxes(before, now) == std::vector<PixelBox>{{0, 0, 32, 16}});
    paint(now, 99, 49, 0xffffffffU);  // where tiles are smaller
    CHECK(changed_boxes(before, now) == std::vector<PixelBox>{{0, 0, 32, 16}, {96, 48, 4, 2}});
}

TEST_CASE("a browser has each picture as it was drawn, whatever changed, also its size", "") {
    Random random(7);
    FrameEncoder encoder(GENERATE(FrameForm::compressed, FrameForm::plain));
    BrowserScreen browser;
    Bitmap bitmap = blank(203, 117);
    for (std::uint32_t number = 1; number <= 60; ++number) {
        if (number % 20 == 0)
            bitmap = blank(static_cast<std::uint32_t>(1 + random.below(300)),
                           static_cast<std::uint32_t>(1 + random.below(200)));
        for (std::uint64_t i = random.below(30); i > 0; --i)
            paint(bitmap, static_cast<std::uint32_t>(random.below(bitmap.width)),
                  static_cast<std::uint32_t>(random.below(bitmap.height)),
                  static_cast<Colour>(random.next()) | 0xff000000U);
        const auto message = encoder.encode(bitmap, number);
        if (!message.empty()) {
            browser.draw(message);
            CHECK(browser.number == number);
        }
        REQUIRE(browser.bitmap.width == bitmap.width);
        REQUIRE(browser.bitmap.pixels == bitmap.pixels);
        CHECK(encoder.encode(bitmap, number + 1).empty());
    }
}

TEST_CASE("a new browser gets the whole picture, and the same pictures are the same bytes", "") {
    Bitmap bitmap = blank(64, 64);
    paint(bitmap, 3, 3, 0xff0000ffU);
    FrameEncoder encoder;
    FrameEncoder other;
    const auto first = encoder.encode(bitmap, 1);
    CHECK(first == other.encode(bitmap, 1));
    encoder.forget();
    CHECK(encoder.encode(bitmap, 1) == first);
}

}  // namespace tidemark::viz
