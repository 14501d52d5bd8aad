// A frame's message as a browser undoes it, for tests.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include <catch2/catch.hpp>
#include <zlib.h>

#include "viz/serve/frame_encoder.h"

namespace tidemark::viz {

// What the browser has drawn.
class BrowserScreen {
  public:
    std::uint32_t number = 0;
    std::size_t boxes = 0;  // of the last frame
    Bitmap bitmap;

    void draw(std::span<const std::byte> message) {
        REQUIRE(message.size() > 11);
        const bool plain = message[0] == std::byte{7};
        REQUIRE((plain || message[0] == std::byte{1}));
        message_ = message;
        number = field(1, 4);
        const std::uint32_t width = field(5, 2);
        const std::uint32_t height = field(7, 2);
        boxes = field(9, 2);
        if (width != bitmap.width || height != bitmap.height) {
            bitmap.width = width;
            bitmap.height = height;
            bitmap.pixels.assign(std::size_t{width} * height, 0);
        }
        if (plain)
            take_colours(message.subspan(11 + 8 * boxes));
        else
            inflate_colours(message.subspan(11 + 8 * boxes));
        const unsigned char* next = colours_.data();
        for (std::size_t i = 0; i < boxes; ++i)
            next = draw_box({field(11 + 8 * i, 2), field(13 + 8 * i, 2), field(15 + 8 * i, 2),
                             field(17 + 8 * i, 2)},
                            next);
        CHECK(next == colours_.data() + colours_.size());
    }

  private:
    std::uint32_t field(std::size_t at, std::size_t width) const {
        std::uint32_t value = 0;
        std::memcpy(&value, message_.data() + at, width);
        return value;
    }

    void inflate_colours(std::span<const std::byte> packed) {
        colours_.assign(3 * bitmap.pixels.size(), 0);
        uLongf size = colours_.size();
        REQUIRE(uncompress(colours_.data(), &size, reinterpret_cast<const Bytef*>(packed.data()),
                           packed.size()) == Z_OK);
        colours_.resize(size);
    }

    void take_colours(std::span<const std::byte> colours) {
        REQUIRE(colours.size() % 4 == 0);
        colours_.clear();
        for (std::size_t i = 0; i < colours.size(); ++i)
            if (i % 4 != 3)
                colours_.push_back(static_cast<unsigned char>(colours[i]));
            else
                REQUIRE(colours[i] == std::byte{0xff});
    }

    const unsigned char* draw_box(const PixelBox& box, const unsigned char* next) {
        REQUIRE(box.left + box.width <= bitmap.width);
        REQUIRE(box.top + box.height <= bitmap.height);
        for (std::uint32_t y = box.top; y < box.top + box.height; ++y)
            for (std::uint32_t x = box.left; x < box.left + box.width; ++x, next += 3)
                bitmap.pixels[std::size_t{y} * bitmap.width + x] =
                    next[0] | static_cast<Colour>(next[1]) << 8U |
                    static_cast<Colour>(next[2]) << 16U | 0xff000000U;
        return next;
    }

    std::span<const std::byte> message_;
    std::vector<unsigned char> colours_;
};

}  // namespace tidemark::viz
