// Bitmap: pixels that views make themselves (maps), for the current renderer to show. The OpenGL
// window keeps a texture for it, the software rasteriser reads it in place.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "replay/report/forms/theme.h"

namespace tidemark::viz {

struct Bitmap {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::vector<Colour> pixels;  // row by row from the top
    std::uint64_t revision = 0;  // of exactly these pixels: next_bitmap_revision()
};

// A number that no picture of this process has had: renderers identify pixels by it, so that they
// take them only once. Thread-safe.
inline std::uint64_t next_bitmap_revision() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace tidemark::viz
