// WindowPainter: turns an ImGui frame into pixels of the window. One for graphics cards; one for
// machines without, whose OpenGL is software and blends every pixel slower than the project's own
// rasteriser does: the rasteriser draws, and OpenGL only shows the result.
//
// The thread of the window's OpenGL context, while that is current.
#pragma once

#include <memory>
#include <string_view>

#include "replay/report/forms/theme.h"

namespace tidemark::viz {

class WindowPainter {
  public:
    WindowPainter() = default;
    WindowPainter(const WindowPainter&) = delete;
    WindowPainter& operator=(const WindowPainter&) = delete;
    virtual ~WindowPainter() = default;

    // The context's fonts have been loaded, or reloaded. Before the next begin_frame().
    virtual void letters_changed() = 0;

    virtual void begin_frame() = 0;

    // Paints what ImGui has rendered into a window of `width` x `height` pixels.
    virtual void paint(int width, int height, Colour ground) = 0;
};

std::unique_ptr<WindowPainter> make_gl_painter();
std::unique_ptr<WindowPainter> make_software_painter();

// Whether the OpenGL renderer of that name is software.
bool is_software(std::string_view renderer);

}  // namespace tidemark::viz
