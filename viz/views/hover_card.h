// HoverCard: what is under the mouse: a heading, and rows of a colour, a name and a value, the most
// informative first. Shown as a tip: the heading, the caller, and a line of rows; the whole card
// goes to the clipboard when the user copies, and to the inspector where that doesn't show the
// same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viz/draw/tip.h"

namespace tidemark::viz {

class HoverCard {
  public:
    // One: what it is.
    void head(std::string text) { heading_ = std::move(text); }

    // Below it, a line each: the callers, innermost first; at most kMostFrames.
    void stack(std::span<const std::string> frames) {
        for (const std::string& frame : frames.first(std::min(frames.size(), kMostFrames)))
            if (frame != heading_)
                heading_ += '\n' + frame;
    }

    // `colour` 0: none.
    void row(Colour colour, std::string name, std::string value) {
        rows_.push_back({colour, std::move(name), std::move(value)});
    }

    // A sentence without a name.
    void note(std::string text) { rows_.push_back({0, {}, std::move(text)}); }

    bool empty() const { return heading_.empty() && rows_.empty(); }

    // Next to `mouse`, on the side where there is room in the window, over everything in it.
    // O(rows).
    void draw(const Canvas& view, ImVec2 mouse) const;

    // "8.231 s\nreserved\t71.2 GiB\n...".
    std::string text() const;

  private:
    static constexpr std::size_t kMostFrames = 4;

    std::string heading_;
    std::vector<TipFigure> rows_;
};

}  // namespace tidemark::viz
