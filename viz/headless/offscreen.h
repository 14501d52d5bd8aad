// Offscreen: a screen in memory: an ImGui context with fonts, style and the software rasteriser.
// For pictures to files, for tests that move the mouse and look, and for measuring.
//
// One at a time is current; making one makes it current. Only its maker's thread.
#pragma once

#include <cstdint>

#include <imgui.h>

#include "replay/report/forms/theme.h"
#include "viz/draw/bitmap.h"
#include "viz/draw/fonts.h"
#include "viz/headless/raster_textures.h"

namespace tidemark::viz {

struct OffscreenOptions {
    std::uint32_t width = 1600;
    std::uint32_t height = 900;
    float scale = 1;
    FontChoice fonts = FontChoice::system;
};

class Offscreen {
  public:
    explicit Offscreen(const OffscreenOptions& options);
    Offscreen(const Offscreen&) = delete;
    Offscreen& operator=(const Offscreen&) = delete;
    ~Offscreen();

    // For mouse and keys: set before begin().
    ImGuiIO& io();

    // A screen of another size or scale, from the next begin() on.
    void resize(std::uint32_t width, std::uint32_t height, float scale);

    // A frame, that long after the last one: begin, draw through ImGui, end.
    void begin(const Theme& theme, float seconds = 1.0F / 60);

    // Renders what was drawn over the theme's ground. The picture stays until the next end().
    const Bitmap& end();

    // Ends the frame without pixels: for callers that need only the drawing's effects.
    void skip();

  private:
    void load_letters();

    ImGuiContext* context_;
    FontChoice fonts_;
    float scale_;
    const Theme* theme_ = nullptr;
    bool styled_dark_ = false;
    RasterTextures textures_;
    Bitmap bitmap_;
};

}  // namespace tidemark::viz
