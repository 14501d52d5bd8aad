// MapPaint: how blocks, free memory and missing memory look in the address map and its bars, the
// same everywhere, and the legend of these looks.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "replay/timeline/block_classes.h"
#include "replay/timeline/occupancy.h"
#include "viz/draw/canvas.h"
#include "viz/draw/frame.h"

namespace tidemark::viz {

class MapPaint {
  public:
    MapPaint(const Theme& theme, const BlockClasses& classes);

    // Of a block's class, or kHiddenKind; and of one of its blocks.
    Colour block(std::uint8_t kind) const { return blocks_[std::size_t{kind} * kShades]; }

    Colour block(std::uint8_t kind, BlockIndex index) const {
        return blocks_[std::size_t{kind} * kShades + shade_of(index)];
    }

    // A cell of a picture, at a pixel: patterns stay where they are on the screen.
    Colour cell(const OccupancyCell& cell, std::uint32_t x, std::uint32_t y) const {
        if (cell.taken == 255 && (cell.flags & kWaitingCell) == 0)
            return blocks_[std::size_t{cell.kind} * kShades + shade_of(cell)];
        if (cell.taken == 0 && cell.memory == 255)
            return free_;
        return mixed(cell, x, y);
    }

    Colour free() const { return free_; }

    Colour hole() const { return hole_; }

    Colour stripe() const { return stripe_; }  // of reserved addresses without memory

    // Black or white, whichever can be read on `ground`.
    static Colour text_on(Colour ground);

    static bool in_stripe(std::uint32_t x, std::uint32_t y) { return (x + y) % 8 < 1; }

    static bool in_hatch(std::uint32_t x, std::uint32_t y) {
        return (x + y) % 6 < 2 || (x + 6000 - y % 6000) % 6 < 2;
    }

  private:
    Colour mixed(const OccupancyCell& cell, std::uint32_t x, std::uint32_t y) const;

    static constexpr std::size_t kShades = 4;

    std::array<Colour, 256 * kShades> blocks_{};  // by kind and shade
    std::array<Colour, 256 * kShades> waiting_{};
    Colour free_;
    Colour hole_;
    Colour stripe_;
    Colour dark_;  // between the bars of a hatching
};

// A word that can be clicked, framed where it is the one chosen. Its width is added to `x`.
bool draw_chip(Frame& frame, float& x, float y, std::string_view word, bool chosen);

// Chips for what blocks are coloured by, from `x` on; changes the selection. Returns where they
// end.
float draw_colour_choice(Frame& frame, float x, float y, BlockTrait shown);

// The legend of the colours, as far as there is room in one line.
void draw_class_legend(Canvas& canvas, const Box& box, const MapPaint& paint,
                       const BlockClasses& classes);

// Free, pending free, without memory and, as `stripes`, addresses without memory of their own
// (nothing if there are none): right-aligned at box.right; nothing where there's no room.
void draw_ground_legend(Canvas& canvas, const Box& box, const MapPaint& paint,
                        std::string_view stripes);

// The word for them.
std::string_view word_for_stripes(bool reserves, bool views);

// A notice where there is nothing to show: a line, and below it what to do.
void draw_notice(Canvas& canvas, const Box& box, std::string_view what, std::string_view hint);

}  // namespace tidemark::viz
