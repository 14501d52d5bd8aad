// Golden pictures: tests/viz/golden/NAME-<ImGui's version>.png, what a scene looked like when
// somebody last looked at it. TIDEMARK_UPDATE_GOLDEN=1 in the environment writes them again.
#pragma once

#include <string>

#include "viz/draw/bitmap.h"

namespace tidemark::viz {

// How two pictures differ. A pixel differs if one of its parts does by more than a little.
struct Difference {
    double share = 1;  // of the pixels; 1 if their sizes aren't the same
    Bitmap bitmap;     // where they do, over a faint copy; empty if sizes differ
};

Difference difference(const Bitmap& expected, const Bitmap& actual);

// Fails the test if `actual` isn't the golden picture of that name, and writes it and the
// difference beside the build; warns, and goes on, if there is none for this version of ImGui.
void check_golden(const std::string& name, const Bitmap& actual);

}  // namespace tidemark::viz
