// HoverCard: what lies under the mouse, as a small table beside it: a heading, and rows of a
// colour, a name and a value. The same text goes to the clipboard when the user copies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viz/draw/canvas.h"

namespace tidemark::viz {

// Where a card of that size goes: beside the mouse, else above or below it, but never over it as
// long as there is room for it anywhere. `beside`: how far from it.
Box card_box(ImVec2 mouse, ImVec2 size, float beside, const Box& room);

class HoverCard {
  public:
    void head(std::string text) { rows_.push_back({0, std::move(text), {}, true}); }

    // `colour` 0: none.
    void row(Colour colour, std::string name, std::string value) {
        rows_.push_back({colour, std::move(name), std::move(value), false});
    }

    // A sentence without a name.
    void note(std::string text) { rows_.push_back({0, {}, std::move(text), false}); }

    bool empty() const { return rows_.empty(); }

    // Beside `mouse`, on the side where there is room in the window, over all that is in it.
    // O(rows).
    void draw(const Canvas& view, ImVec2 mouse) const;

    // "8.231 s\nreserved\t71.2 GiB\n...".
    std::string text() const;

  private:
    struct Row {
        Colour colour = 0;
        std::string name;
        std::string value;
        bool heading = false;
    };

    float width(const Canvas& canvas) const;

    std::vector<Row> rows_;
};

}  // namespace tidemark::viz
