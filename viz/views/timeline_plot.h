// The curves of a run: layers of opaque columns, lines of a fixed look over them, and the axis of
// bytes at the left. Neighbouring columns of one height are one rectangle: what is drawn is bounded
// by the pixels and mostly far below.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "core/tiers/machine/machine.h"
#include "replay/timeline/fragmentation_curve.h"
#include "viz/draw/canvas.h"
#include "viz/model/timeline/level_pyramid.h"
#include "viz/model/timeline/timeline_columns.h"

namespace tidemark::viz {

// Which curves are shown.
using ShownSeries = std::array<bool, kSeriesCount>;

// The scale of bytes: `low` is at the bottom of `box`, 0 unless the user has zoomed, and `top` at
// its top.
struct ByteScale {
    Box box;
    Bytes top = 1;
    Bytes low = 0;

    // On a whole pixel.
    float y(Bytes bytes) const;
};

// Draws columns a pixel wide, side by side from `left` on; neighbours that look the same become one
// rectangle. The last one is drawn when it goes.
class BandPainter {
  public:
    BandPainter(Canvas& canvas, float left) : canvas_(canvas), left_(left) {}

    BandPainter(const BandPainter&) = delete;
    BandPainter& operator=(const BandPainter&) = delete;

    ~BandPainter() { flush(); }

    // By rising `at`; gaps are left empty.
    void column(std::size_t at, float top, float bottom, Colour colour);

  private:
    void flush();

    Canvas& canvas_;
    float left_;
    std::size_t from_ = 0;
    std::size_t until_ = 0;
    float top_ = 0;
    float bottom_ = 0;
    Colour colour_ = 0;
};

Colour colour_of(const Theme& theme, Series series);
Colour colour_of(const Theme& theme, Tier tier);

// Lines across the plot and their labels in the margin at its left.
void draw_byte_axis(Canvas& canvas, const ByteScale& scale);

// The columns are side by side from the box's left, a pixel each. `held` are as many, or none: then
// unreleasable memory is drawn as cached. Reserved memory has the colour `line`.
void draw_series(Canvas& canvas, const ByteScale& scale, std::span<const SeriesColumn> columns,
                 std::span<const HeldColumn> held, const ShownSeries& shown, Colour line);

// How many of `columns` over the window start before `end`: those after it have nothing to show.
std::size_t columns_before(Position end, const Window& window, std::size_t columns);

// "ended at 1.81 s": the time of a run's last event.
std::string ended_text(const History& history, AxisUnit unit);

// Hatches the plot from the first column on that a run has not reached.
void draw_after_end(Canvas& canvas, const Box& plot, std::size_t first);

// A label there that it has ended, over everything that is drawn: as put_label.
void label_end(Canvas& canvas, const Box& plot, std::size_t first, std::string_view ended,
               std::vector<Box>& labels);

// A line `thick` pixels high, from a column's least value to its largest.
void draw_level_line(Canvas& canvas, const ByteScale& scale, std::span<const LevelColumn> columns,
                     Colour colour, float thick);

// The same, filled below: up to the least in `colour`, from there to the largest in `swing`.
void draw_level_area(Canvas& canvas, const ByteScale& scale, std::span<const LevelColumn> columns,
                     Colour colour, Colour swing);

// A dashed line with its name, if it is within the scale; else a note that it is above. Its label
// is placed around those of `labels`, and added to them.
void draw_bound(Canvas& canvas, const ByteScale& scale, Bytes bytes, std::string_view name,
                Colour colour, std::vector<Box>& labels);

// Moves a label down until it covers none of `labels`; its place is added to them.
Box put_label(Canvas& canvas, ImVec2 at, std::string_view text, Colour colour, Align align,
              std::vector<Box>& labels);

}  // namespace tidemark::viz
