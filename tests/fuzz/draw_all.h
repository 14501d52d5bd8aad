// What was read goes through every view of the viewer, as it is drawn without a window.
#pragma once

#include <string>

namespace tidemark::fuzz {

// Draws each view of the file at `path`, of any format, small, whole and narrowed. Aborts
// (TM_CHECK) where a view can't be drawn of what could be loaded. Returns whether it could be.
bool draw_all(const std::string& path, bool lenient);

}  // namespace tidemark::fuzz
