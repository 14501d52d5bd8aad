// Widgets: buttons, tabs and bars as the shell draws them: flat, aligned to its own boxes.
#pragma once

#include <string_view>

#include "viz/draw/canvas.h"

namespace tidemark::viz {

enum class ButtonLook : std::uint8_t {
    plain,     // text, a ground under the mouse
    raised,    // always with a ground
    on,        // the chosen one
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

// A tab: underlined if it is chosen; `hint` (its key) is shown faintly before the title.
Pressed tab(Canvas& canvas, const Box& box, const char* id, std::string_view title,
            std::string_view hint, bool is_on);
float tab_width(const Canvas& canvas, std::string_view title, std::string_view hint);

// A progress bar: 0 to 1.
void progress_bar(Canvas& canvas, const Box& box, double share);

// An edge that can be pulled. Returns by how many pixels it was, in x or y.
float splitter(const Box& grip, const char* id, bool is_vertical);

// Text over several lines within `width`, broken at blanks; returns its height.
float paragraph(Canvas& canvas, ImVec2 at, float width, std::string_view text, Colour colour);

}  // namespace tidemark::viz
