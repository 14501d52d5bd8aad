// Fonts: the letters of the viewer at a scale: DejaVu if the system has it, else the font that
// ImGui contains, at a whole multiple of its size. Pictures that are compared with golden ones
// always use the latter.
#pragma once

#include <cstdint>

#include <imgui.h>

namespace tidemark::viz {

enum class FontChoice : std::uint8_t { system, built_in };

constexpr float kSmallestScale = 0.75F;
constexpr float kLargestScale = 3;

struct Fonts {
    ImFont* text = nullptr;     // the atlas' default
    ImFont* fixed = nullptr;    // every letter as wide as the others: addresses, stacks
    ImFont* heading = nullptr;  // larger
};

// Refills `atlas` for `scale` (brought within its bounds), as a picture of one byte a pixel
// (renderers read it with GetTexDataAsAlpha8 or ...RGBA32). Signs that a font lacks but that we use
// (arrows, dashes) are replaced by the nearest that it has. Never fails: fonts that can't be read
// are replaced by the built-in one. Takes about 20 ms with the system's fonts.
Fonts load_fonts(ImFontAtlas& atlas, float scale, FontChoice choice);

// The fonts of the current frame's context, by their position in its atlas. Only after load_fonts.
Fonts current_fonts();

}  // namespace tidemark::viz
