// FrameEncoder: pictures for a browser as what changed since the last one: tiles of 16 x 16 pixels,
// neighbours in a row joined to rectangles, their colours compressed with zlib, which a browser
// undoes natively (DecompressionStream).
//
// Measured on frames of a zoom at 1600 x 900 (a quarter of the tiles changes): as PNG a frame has
// 117 KB and takes 18 ms, as lossless WebP 120 KB and 6 ms or 107 KB and 34 ms; zlib's level 4
// without filters gives 113 KB in 5 ms. Tiles of 32 or 64 pixels carry 6 and 35 % more.
//
// Deterministic: the same pictures give the same bytes. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "viz/draw/bitmap.h"

namespace tidemark::viz {

struct PixelBox {
    std::uint32_t left = 0;
    std::uint32_t top = 0;
    std::uint32_t width = 0;
    std::uint32_t height = 0;

    friend bool operator==(const PixelBox&, const PixelBox&) = default;
};

// The rectangles in which `now` differs from `before`, from the top, of one size: its whole where
// the sizes differ. They don't overlap, and what is outside of them is the same. O(pixels).
std::vector<PixelBox> changed_boxes(const Bitmap& before, const Bitmap& now);

// How the colours travel: to another computer, or to the page that this runs in.
enum class FrameForm : std::uint8_t { compressed, plain };

class FrameEncoder {
  public:
    explicit FrameEncoder(FrameForm form = FrameForm::compressed);
    FrameEncoder(const FrameEncoder&) = delete;
    FrameEncoder& operator=(const FrameEncoder&) = delete;
    ~FrameEncoder();

    // The message that makes of the picture before this one; empty if nothing changed.
    // Little-endian:
    //
    //   u8 1, u32 number, u16 width, u16 height (of the whole), u16 count,
    //   count times u16 left, u16 top, u16 width, u16 height,
    //   zlib stream of red, green, blue, a byte each, box by box, row by row
    //
    // or, plain, with u8 7 instead of 1 and those bytes and 255 of each pixel instead of the
    // stream.
    //
    // `bitmap` has at most kWidestScreen pixels in either direction.
    std::vector<std::byte> encode(const Bitmap& bitmap, std::uint32_t number);

    // The next picture is sent whole: there is a new browser.
    void forget() { last_ = {}; }

  private:
    struct Deflater;

    void add_packed(const Colour* row, std::size_t width);
    void add_plain(const Colour* row, std::size_t width);

    FrameForm form_;
    std::vector<std::byte> colours_;
    Bitmap last_;
    std::unique_ptr<Deflater> deflater_;
};

constexpr std::uint32_t kWidestScreen = 4096;  // pixels of a browser, in either direction

}  // namespace tidemark::viz
