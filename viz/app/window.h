// GlWindow: a real window, through GLFW and OpenGL: events in, frames out, pictures as textures.
// Without a window library open() fails with a hint.
//
// One at a time; the main thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "replay/report/forms/theme.h"
#include "viz/draw/bitmap.h"
#include "viz/shell/shell.h"

namespace tidemark::viz {

// What to do if no window can be opened.
constexpr std::string_view kWithoutWindow =
    "in a browser: tidemark-view --serve FILE; as a picture: tidemark-view FILE --png OUT.png";

struct WindowOptions {
    std::uint32_t width = 1600;
    std::uint32_t height = 900;
    float scale = 0;  // 0 = the monitor's
    std::string title;
    bool built_in_font = false;
    bool as_fast_as_it_goes = false;  // doesn't wait for the screen: for measuring
};

class GlWindow {
  public:
    // Errors (unsupported): no display, no OpenGL 3.3, a program without window library; with a
    // hint.
    static Result<std::unique_ptr<GlWindow>> open(const WindowOptions& options);

    GlWindow(const GlWindow&) = delete;
    GlWindow& operator=(const GlWindow&) = delete;
    ~GlWindow();

    bool closing() const;
    void close();

    // Waits for the mouse, a key or anything else that would change the picture, at most `seconds`
    // (0 = not at all). True if there was an event.
    bool wait(double seconds);

    // Input since the last call, for Shell::draw; with the current scale.
    ShellInput take_input();

    // A frame: begin, draw through ImGui, end. `theme` may change from frame to frame; end()
    // returns once the picture has been handed over. `copy`: its pixels as well.
    void begin(const Theme& theme);
    void end(Bitmap* copy = nullptr);

    // Waits until the graphics card has finished: for measuring.
    void finish();

    // "llvmpipe (LLVM 15.0.6, 256 bits)".
    std::string renderer() const;

  private:
    struct Parts;
    struct Events;

    explicit GlWindow(std::unique_ptr<Parts> parts);

    std::unique_ptr<Parts> parts_;
};

}  // namespace tidemark::viz
