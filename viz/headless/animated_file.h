// Animated file: pictures as a short animation. A format is one file here and a line in
// animation_formats.inc; if the build lacks its library, no_NAME.cpp replaces it, whose create()
// says what to install.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "traces/io/output_target.h"
#include "viz/draw/bitmap.h"

namespace tidemark::viz {

class AnimatedFile {
  public:
    AnimatedFile() = default;
    AnimatedFile(const AnimatedFile&) = delete;
    AnimatedFile& operator=(const AnimatedFile&) = delete;
    virtual ~AnimatedFile() = default;

    // A picture that is shown for this long, of the size that was given. O(pixels). Errors: the
    // library's.
    virtual Result<void> add(const Bitmap& bitmap, int milliseconds) = 0;

    // Writes it to `target`, whole or not at all: the same bytes for the same pictures and library.
    // Once, after the last picture. Errors: those of OutputFile.
    virtual Result<void> write(const OutputTarget& target) = 0;
};

struct AnimationFormat {
    std::string_view ending;   // of file names: ".gif"
    std::string_view package;  // of Debian, that a build needs for it

    // Pictures of that size follow. Errors: bad_option (more pixels than the format takes),
    // unsupported (a build or machine without its library, with what to install).
    Result<std::unique_ptr<AnimatedFile>> (*create)(std::uint32_t width, std::uint32_t height);
};

// The catalogue. O(1), thread-safe.
std::span<const AnimationFormat> animation_formats();

// The format that a file of that name is to have; null: none.
const AnimationFormat* animation_format_of(std::string_view path);

// For no_NAME.cpp: what the build lacks.
tl::unexpected<Error> no_animation_format(std::string_view ending);

}  // namespace tidemark::viz
