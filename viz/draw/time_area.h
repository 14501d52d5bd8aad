// TimeArea: the part of a view over the shared time axis: one mapping from positions to pixels for
// all views, and one behaviour of the mouse: the wheel zooms about the pointer, dragging pans,
// Shift-drag measures, a click puts the cursor. All such views also share grid, cursor, hovered
// position and measured stretch.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replay/report/forms/axis_ticks.h"
#include "viz/draw/frame.h"

namespace tidemark::viz {

// A stretch of pixels.
struct Reach {
    float from = 0;
    float to = 0;
};

class TimeArea {
  public:
    // Takes the mouse over `box` (of `frame`), and moves camera and selection accordingly. `id`
    // identifies the areas of one window.
    TimeArea(Frame& frame, const Box& box, const char* id);

    const Box& box() const { return box_; }

    std::size_t columns() const;  // whole pixels of width; at least 1

    float to_x(Position position) const;
    Position to_position(float x) const;

    bool hovered() const { return hovered_; }

    // The left button was pressed and released here without dragging; twice.
    bool clicked() const { return clicked_; }

    bool double_clicked() const { return double_clicked_; }

    // Lines of the axis behind what a view draws; labels of the axis below `box`, in a strip of
    // axis_height().
    void draw_grid() const;
    void draw_axis() const;

    // Cursor, hover line and measured stretch, over the view's drawing.
    void draw_cursors() const;

    static float axis_height(const Canvas& canvas);

  private:
    // The label of a position below the axis, and its room there.
    struct AxisLabel {
        std::string text;
        float left = 0;
        float right = 0;
        Colour colour = 0;
    };

    void take_mouse(unsigned id);
    void drag(bool measures, Position under);
    void draw_axis_labels(const AxisTicks& axis, float top,
                          const std::vector<AxisLabel>& taken) const;
    std::vector<AxisLabel> position_labels() const;
    void add_label(std::vector<AxisLabel>& labels, Position position, Colour colour) const;
    float left_of(Position at) const;
    void draw_measure(const Window& stretch) const;
    void draw_measured_figures(const Window& stretch, const Reach& reach) const;

    Frame& frame_;
    Box box_;
    bool hovered_ = false;
    bool clicked_ = false;
    bool double_clicked_ = false;
};

// Drawn over a measured stretch: a transparent veil, edges, and a bar along its top.
void draw_measured_veil(Canvas& canvas, const Box& box);

// Where the middle of a label goes whose half width is `half` and that should be at `x`: there, or
// else next to `taken`, on the same side, if that is within the `room` for middles. O(1).
float beside(float x, float half, const Reach& taken, const Reach& room);

// Where plots start and end in every view over the time axis, so that the same moment is on one
// vertical line: room for the vertical axis' labels at the left, a margin at the right.
Box plot_box(const Canvas& canvas, const Box& area);

}  // namespace tidemark::viz
