// TimelineLegend: the names of the curves, with their values at the looked-at moment. A click on an
// entry hides its curve. Entries flow into as many lines as they need; none moves when values
// change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viz/draw/frame.h"

namespace tidemark::viz {

// How a curve looks, so that colour is never the only difference.
enum class CurveLook : std::uint8_t { line, area, dots, gap };

struct LegendEntry {
    std::string name;
    std::string value = {};
    Colour colour = 0;
    CurveLook look = CurveLook::line;
    std::optional<std::size_t> toggles = {};  // what a click means to the owner; none: nothing
    bool on = true;
    std::optional<Colour> fill = {};  // of an area: below its edge, which has the colour
};

class TimelineLegend {
  public:
    // The positions of entries in a box of that width, where `beside` is taken at the right of the
    // first two lines. O(entries).
    TimelineLegend(const Canvas& canvas, std::vector<LegendEntry> entries, float width,
                   float beside = 0);

    float height() const { return height_; }

    // Returns what was clicked.
    std::optional<std::size_t> draw(Frame& frame, const Box& box) const;

  private:
    struct Slot {
        LegendEntry entry;
        float x = 0;
        float y = 0;
        float width = 0;
    };

    static void draw_sign(Canvas& canvas, const Box& box, const LegendEntry& entry);

    std::vector<Slot> slots_;
    float height_ = 0;
};

}  // namespace tidemark::viz
