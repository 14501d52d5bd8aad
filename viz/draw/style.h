// Style: makes ImGui's own widgets match what we draw: colours of the theme, sizes of a scale,
// opaque grounds, straight corners.
#pragma once

#include "replay/report/forms/theme.h"

namespace tidemark::viz {

// Of the current context, at any time between frames.
void apply_style(const Theme& theme, float scale);

}  // namespace tidemark::viz
