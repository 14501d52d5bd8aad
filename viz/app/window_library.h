// GLFW and OpenGL, looked up when a window is opened: the same program runs, and draws pictures to
// files, on computers that have neither. Their functions have their own names; those that are
// called here are defined in window_library.cpp.
#pragma once

#include "core/base/result.h"

namespace tidemark::viz {

// Loads GLFW, before any of its functions is called. OpenGL's are available once a context is
// current. Errors (unsupported): it is missing, cannot be loaded, or is too old; what to install.
Result<void> load_window_library();

}  // namespace tidemark::viz
