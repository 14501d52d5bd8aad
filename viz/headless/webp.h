// Animated WebP: pictures as a short animation in a file, lossless. The one home of libwebp; a
// build without it has no_webp.cpp, whose create() says so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "viz/draw/bitmap.h"

namespace tidemark::viz {

class AnimatedWebp {
  public:
    // Pictures of that size follow, at most 16383 pixels in either direction. Errors: bad_option (a
    // build without libwebp, with what to install), out_of_memory.
    static Result<std::unique_ptr<AnimatedWebp>> create(std::uint32_t width, std::uint32_t height);

    virtual ~AnimatedWebp() = default;

    // A picture that stays so long. O(pixels).
    virtual Result<void> add(const Bitmap& bitmap, int milliseconds) = 0;

    // Writes it to `path`, whole or not at all: the same bytes for the same pictures and libwebp.
    // It plays again and again. Once, after the last picture. Errors: io.
    virtual Result<void> write(const std::string& path) = 0;
};

}  // namespace tidemark::viz
