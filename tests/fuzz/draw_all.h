// What was read goes through every view of the viewer, as it is drawn without a window.
#pragma once

#include <string>

namespace tidemark::viz {
struct Session;
}

namespace tidemark::fuzz {

// Draws each view of what is loaded, small, whole and narrowed. Aborts (TM_CHECK) where a view
// can't be drawn.
void draw_all(viz::Session& session);

// The same of the file at `path`, of any format. Returns whether it could be loaded.
bool draw_all(const std::string& path, bool lenient);

}  // namespace tidemark::fuzz
