// Replaces the window in a program that was built without a window library: opening it fails.
#include "viz/app/window.h"

namespace tidemark::viz {

struct GlWindow::Parts {};

Result<std::unique_ptr<GlWindow>> GlWindow::open(const WindowOptions& /*options*/) {
    return fail(ErrorCode::unsupported, "this program was built without GLFW and OpenGL", {},
                std::string(kWithoutWindow));
}

GlWindow::~GlWindow() = default;

bool GlWindow::closing() const {
    return true;
}

void GlWindow::close() {}

bool GlWindow::wait(double /*seconds*/) {
    return false;
}

ShellInput GlWindow::take_input() {
    return {};
}

void GlWindow::begin(const Theme& /*theme*/) {}

void GlWindow::end(Bitmap* /*copy*/) {}

void GlWindow::finish() {}

std::string GlWindow::renderer() const {
    return {};
}

}  // namespace tidemark::viz
