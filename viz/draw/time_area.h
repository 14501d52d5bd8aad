// TimeArea: the part of a view that lies over the shared time axis: one mapping from positions to
// pixels for all views, and one behaviour under the mouse: wheel zooms about the pointer, dragging
// pans, shift-drag measures, a click puts the cursor. And what every such view shows alike: grid,
// cursor, hovered position, measured stretch.
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
    // Takes the mouse over `box` (of `frame`), moves camera and selection by what it does. `id`
    // tells areas of one window apart.
    TimeArea(Frame& frame, const Box& box, const char* id);

    const Box& box() const { return box_; }

    std::size_t columns() const;  // whole pixels of width; at least 1

    float to_x(Position position) const;
    Position to_position(float x) const;

    bool hovered() const { return hovered_; }

    // The left button was pressed and let go here without dragging; twice.
    bool clicked() const { return clicked_; }

    bool double_clicked() const { return double_clicked_; }

    // Lines of the axis behind what a view draws; labels of the axis below `box`, in a strip of
    // axis_height().
    void draw_grid() const;
    void draw_axis() const;

    // Cursor, hover line and measured stretch, over what a view has drawn.
    void draw_cursors() const;

    static float axis_height(const Canvas& canvas);

  private:
    // What a position is called below the axis, and the room that it takes there.
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

// What lies over a measured stretch: a veil through which one still sees, edges, and a bar along
// its top.
void draw_measured_veil(Canvas& canvas, const Box& box);

// Where the middle of a label of twice `half` goes that should be at `x`: there, or else beside
// what is taken, on the side on which it was, if that is within the `room` for middles. O(1).
float beside(float x, float half, const Reach& taken, const Reach& room);

// Where plots begin and end in every view over the time axis, so that the same moment stands in one
// vertical line: room for the vertical axis' labels at the left, a margin at the right.
Box plot_box(const Canvas& canvas, const Box& area);

}  // namespace tidemark::viz
