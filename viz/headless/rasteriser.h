// Rasteriser: draws what ImGui wants drawn, in software, the same pixels on every computer: edges
// are whole numbers (1/256 pixel), a pixel belongs to a shape if its middle does, and one on an
// edge that two shapes share belongs to exactly one of them. No display, no driver, no threads.
#pragma once

#include <cstdint>

#include <imgui.h>

#include "viz/draw/bitmap.h"

namespace tidemark::viz {

// What an ImTextureID points to here. Null draws as white.
struct Texture {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    const std::uint8_t* alpha = nullptr;  // a byte a pixel (fonts): white with that alpha
    const Colour* colours = nullptr;      // or these
};

// Draws `data` onto `target`, which is as large as its display; parts outside are cut off. Colours
// are mixed in sRGB as GL does; the target stays opaque. Textures are taken without smoothing.
// Vertices that are not numbers are not drawn.
//
// A few milliseconds for a full window: bounded by pixels filled and vertices. Thread-safe for
// different targets.
void rasterise(const ImDrawData& data, Bitmap& target);

}  // namespace tidemark::viz
