// Picture: pixels that views make themselves (maps), for the renderer at hand to show. The OpenGL
// window keeps a texture for it, the software rasteriser reads it where it is.
#pragma once

#include <cstdint>
#include <vector>

#include "viz/draw/theme.h"

namespace tidemark::viz {

struct Picture {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::vector<Colour> pixels;  // row by row from the top
    std::uint64_t revision = 0;  // changes when the pixels do
};

}  // namespace tidemark::viz
