// Writer: puts headings, sentences, bars and links below each other in a column, for the overview.
// Items without room are left out as a whole.
#pragma once

#include <string>
#include <string_view>

#include "viz/draw/frame.h"

namespace tidemark::viz {

struct Writer {
    static constexpr float kNameWidth = 92;     // points for the names before bars
    static constexpr float kFigureWidth = 230;  // and the figures behind them

    Canvas& canvas;
    Box box;  // what is left of the column

    float line() const;

    bool has_room(float lines) const { return box.height() >= lines * line(); }

    void skip(float points) { box.top += canvas.px(points); }

    // Takes a line off the top.
    Box row();

    void heading(std::string_view text);

    // A heading of as many lines as it needs; whole or not at all.
    void headline(std::string_view text, Colour colour);

    float heading_height(std::string_view text) const;

    // All or nothing: half a sentence may say the opposite.
    void paragraph(std::string_view text, Colour colour);

    float paragraph_height(std::string_view text) const;

    // "reserved [=====   ] 7.21 GiB, 9 % of 80 GiB".
    void bar(std::string_view name, Colour colour, double part, std::string_view figure);

    // "trace    run.tmk"; nothing without a value.
    void fact(std::string_view name, std::string_view value);
};

// A line that is lit under the mouse, and whether it was clicked.
bool clicked_line(Frame& frame, const Box& line, const std::string& id);

}  // namespace tidemark::viz
