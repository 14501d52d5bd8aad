// Tip: what is under the mouse in two lines at most: what it is, and its figures, side by side. It
// lies beside the mouse, never over what is pointed at, and never beyond the window's edges. All
// the rest is the inspector's.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "viz/draw/canvas.h"

namespace tidemark::viz {

// A figure of the second line; what has no name is a sentence. `colour` 0: none.
struct TipFigure {
    Colour colour = 0;
    std::string name;
    std::string value;
};

// Where a card of that size goes: beside the mouse, else above or below it, but never over it as
// long as there is room for it anywhere. `beside`: how far from it.
Box card_box(ImVec2 mouse, ImVec2 size, float beside, const Box& room);

// Draws it over all that is in the window but what is right of Canvas::tips_end(), and returns its
// box: the lines of `what`, and below them figures from the first on, as many as there is room for;
// an ellipsis says that there are more. O(lines + figures).
Box draw_tip(const Canvas& view, ImVec2 mouse, std::string_view what,
             std::span<const TipFigure> figures);

// The same for a button or the like: beside the mouse as ImGui has it, and a sentence below.
void draw_tip(const Canvas& view, std::string_view what, std::string_view more = {});

}  // namespace tidemark::viz
