// ColumnWriter: text and figures below each other in a narrow column that scrolls: headings, rows
// of a label and a value, paragraphs, links. Screen's thread only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "viz/draw/frame.h"

namespace tidemark::viz {

class ColumnWriter {
  public:
    // Starts at the top of `box`, moved up by `scroll` pixels, which the wheel changes.
    ColumnWriter(Frame& frame, const Box& box, float& scroll);

    // Ends the column: limits `scroll` to what was written.
    ~ColumnWriter();

    ColumnWriter(const ColumnWriter&) = delete;
    ColumnWriter& operator=(const ColumnWriter&) = delete;

    void heading(std::string_view title, std::string_view remark = {});

    // A value to the right of a label, on one line if both fit; `mark` is a square of a colour.
    void figure(std::string_view label, std::string_view value, std::optional<Colour> mark = {});

    // A value below its label or next to it, over as many lines as it needs.
    void fact(std::string_view label, std::string_view value);

    void paragraph(std::string_view text, Colour colour);

    // A text that can be clicked; returns whether it was.
    bool link(std::string_view text);

    void gap();

  private:
    bool seen(float height) const;  // whether a line at the current height is on the screen

    Frame& frame_;
    Box box_;
    float& scroll_;
    float top_;  // of the next line
    float line_;
    std::size_t links_ = 0;
};

}  // namespace tidemark::viz
