// Widgets: buttons, tabs and bars as the shell draws them: flat, aligned to its own boxes.
#pragma once

#include <string_view>

#include "viz/draw/canvas.h"

namespace tidemark::viz {

enum class ButtonLook : std::uint8_t {
    plain,     // text, a ground under the mouse
    raised,    // a ground always
    on,        // what is chosen
    disabled,  // can't be pressed
};

struct Pressed {
    bool left = false;
    bool beneath = false;  // with Ctrl or Shift, or with another button
    bool hovered = false;
};

// A button with its text in the middle. `id` tells those of one window apart.
Pressed button(Canvas& canvas, const Box& box, const char* id, std::string_view text,
               ButtonLook look = ButtonLook::plain);

// As wide as its text needs.
float button_width(const Canvas& canvas, std::string_view text);

// A tab: underlined where it is chosen; `hint` (its key) stands faintly before the title.
Pressed tab(Canvas& canvas, const Box& box, const char* id, std::string_view title,
            std::string_view hint, bool is_on);
float tab_width(const Canvas& canvas, std::string_view title, std::string_view hint);

// How far something is: 0 to 1.
void progress_bar(Canvas& canvas, const Box& box, double share);

// An edge that can be pulled. Returns by how many pixels it was, in x or y.
float splitter(const Box& grip, const char* id, bool is_vertical);

// Text over several lines within `width`, broken at blanks; returns the height that it takes.
float paragraph(Canvas& canvas, ImVec2 at, float width, std::string_view text, Colour colour);

}  // namespace tidemark::viz
