// Tip: two lines at most about what is under the mouse: its name, and its figures in a row. It is
// next to the mouse, never over the subject, and never beyond the window's edges. The inspector
// shows the rest.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "viz/draw/canvas.h"

namespace tidemark::viz {

// A figure of the second line; without a name it is a sentence. `colour` 0: none.
struct TipFigure {
    Colour colour = 0;
    std::string name;
    std::string value;
};

// Position of a card of that size: next to the mouse, else above or below it, but never over it as
// long as there is room for it anywhere. `beside`: the distance.
Box card_box(ImVec2 mouse, ImVec2 size, float beside, const Box& room);

// Draws it over everything in the window except what is right of Canvas::tips_end(), and returns
// its box: the lines of `what`, and below them as many figures as there is room for, from the first
// on; an ellipsis shows that there are more. O(lines + figures).
Box draw_tip(const Canvas& view, ImVec2 mouse, std::string_view what,
             std::span<const TipFigure> figures);

// The same for a button or similar: next to ImGui's mouse position, with a sentence below.
void draw_tip(const Canvas& view, std::string_view what, std::string_view more = {});

}  // namespace tidemark::viz
