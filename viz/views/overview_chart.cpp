// Curves, then the bracket and its text over them.
#include "viz/views/overview_chart.h"

#include <algorithm>
#include <cmath>

#include "viz/draw/fonts.h"
#include "viz/model/session/moment.h"

namespace tidemark::viz {
namespace {

constexpr double kOverviewHeadroom = 1.18;  // above the highest point: room for the peak's label
constexpr double kOverviewNearCapacity = 1.35;
constexpr float kLegendShare = 0.3F;  // of the height, at most
constexpr float kBracketAway = 5;     // points from the moment
constexpr float kBracketReach = 7;    // of its arms
constexpr float kCalloutPad = 8;
constexpr float kCalloutAway = 14;  // from the bracket

Bytes scaled(Bytes bytes, double by) {
    return static_cast<Bytes>(static_cast<double>(bytes) * by);
}

Bytes top_of(const Curves& curves) {
    const Bytes highest = std::max<Bytes>(curves.highest(), 1024);
    const Bytes capacity = curves.capacity();
    const bool is_near = capacity > 0 && capacity <= scaled(highest, kOverviewNearCapacity);
    return std::max(scaled(highest, kOverviewHeadroom), is_near ? scaled(capacity, 1.06) : 0);
}

// The text of the answer on a ground of its own.
class Callout {
  public:
    Callout(const Canvas& canvas, const PeakAnswer& answer) : answer_(answer) {
        ImGui::PushFont(current_fonts().heading);
        heading_ = std::ceil(canvas.line_height() * 1.2F);
        width_ = canvas.text_width(answer.label);
        ImGui::PopFont();
        line_ = answer.detail.empty() ? 0 : std::ceil(canvas.line_height() * 1.2F);
        width_ = std::max(width_, canvas.text_width(answer.detail));
    }

    Box box_at(const Canvas& canvas, float x, float y, bool is_left) const {
        const float pad = canvas.px(kCalloutPad);
        const float width = std::ceil(width_) + 2 * pad;
        const float height = heading_ + line_ + pad;
        const float left = std::round(is_left ? x - width : x);
        const float top = std::round(y - height / 2);
        return {left, top, left + width, top + height};
    }

    void draw(Canvas& canvas, const Box& box) const {
        const Theme& theme = canvas.theme();
        const float pad = canvas.px(kCalloutPad);
        canvas.fill(box, theme.ground);
        canvas.outline(box, answer_.is_refusal ? theme.problem : theme.text);
        const float left = box.left + pad;
        float top = box.top + pad / 2;
        ImGui::PushFont(current_fonts().heading);
        canvas.text_within({left, top, box.right, top + heading_}, answer_.label,
                           answer_.is_refusal ? theme.problem : theme.text);
        ImGui::PopFont();
        top += heading_;
        canvas.text_within({left, top, box.right, top + line_}, answer_.detail, theme.faint_text);
    }

  private:
    const PeakAnswer& answer_;
    float heading_ = 0;
    float line_ = 0;
    float width_ = 0;
};

// "[" around the free memory, next to the moment, and a line to its text.
void draw_bracket(Canvas& canvas, float x, float top, float bottom, bool is_left) {
    const Theme& theme = canvas.theme();
    const float thick = std::round(canvas.px(2));
    const float away = canvas.px(kBracketAway);
    const float reach = canvas.px(kBracketReach);
    const float back = is_left ? x - away : x + away;
    const float arm = is_left ? back - reach : back + reach;
    const auto bar = [&](const Box& box) {
        canvas.fill(box.inset(-1), theme.plot);
        canvas.fill(box, theme.text);
    };
    bottom = std::max(bottom, top + thick);
    bar({std::min(back, arm), top, std::max(back, arm), top + thick});
    bar({std::min(back, arm), bottom - thick, std::max(back, arm), bottom});
    bar({back - thick / 2, top, back + thick / 2, bottom});
}

// The most that is reserved between two positions of the plot.
Bytes most_between(const History& history, AxisUnit unit, const TimeArea& area, float left,
                   float right) {
    SeriesColumn column;
    const Position begin = area.to_position(left);
    history.series(unit, begin, std::max(area.to_position(right), begin + 1), {&column, 1});
    return column.max[Series::reserved];
}

// Above the curves where there is room, next to the moment and the existing labels; pushed into the
// plot.
Box callout_box(Frame& frame, const TimeArea& area, const ByteScale& scale, const Callout& callout,
                float x, const std::vector<Box>& labels) {
    const Canvas& canvas = frame.canvas;
    const Box& plot = scale.box;
    const float away = canvas.px(kCalloutAway);
    const float pad = canvas.px(4);
    Box target = callout.box_at(canvas, x - away, plot.top, true);
    bool is_left = target.left >= plot.left + pad;
    if (!is_left)
        target = callout.box_at(canvas, x + away, plot.top, false);
    const Bytes below =
        most_between(*frame.run().history, frame.camera.unit(), area, target.left, target.right);
    const float top = std::clamp(scale.y(below) - pad - target.height(), plot.top + pad,
                                 std::max(plot.bottom - target.height() - pad, plot.top + pad));
    target = {target.left, top, target.right, top + target.height()};
    for (const Box& label : labels) {
        if (!target.overlaps(label))
            continue;
        const float by =
            is_left ? label.left - pad - target.right : label.right + pad - target.left;
        target.left += by;
        target.right += by;
    }
    const float by = std::max(plot.left + pad - target.left, 0.0F) -
                     std::max(target.right - plot.right + pad, 0.0F);
    return {target.left + by, target.top, target.right + by, target.bottom};
}

// Where the answer's moment is in the window, above the curves.
void draw_answer(Frame& frame, const TimeArea& area, const ByteScale& scale,
                 const PeakAnswer& answer, const std::vector<Box>& labels) {
    const Position position = frame.run().history->position(frame.camera.unit(), answer.event);
    const Window& window = frame.camera.window();
    if (position < window.begin || position >= window.end)
        return;
    Canvas& canvas = frame.canvas;
    const Callout callout(canvas, answer);
    const float x = std::floor(area.to_x(position));
    const Box target = callout_box(frame, area, scale, callout, x, labels);
    const bool is_left = target.left < x;
    const float top = scale.y(answer.to);
    const float bottom = scale.y(answer.from);
    draw_bracket(canvas, x, top, bottom, is_left);
    const float middle = std::round((top + bottom) / 2);
    const float arm = canvas.px(kBracketAway + kBracketReach);
    const float from = is_left ? x - arm : x + arm;
    const float to = is_left ? std::min(target.right, from) : std::max(target.left, from);
    const float y = std::clamp(middle, target.top, target.bottom);
    const float thick = std::round(canvas.px(1.5F));
    canvas.line(
        {is_left ? from + canvas.px(kBracketReach) : from - canvas.px(kBracketReach), middle},
        {to, y}, canvas.theme().text, thick);
    callout.draw(canvas, target);
}

}  // namespace

OverviewChart::OverviewChart() : history_curves_(history_curves()), tier_curves_(tier_curves()) {}

bool OverviewChart::draw(Frame& frame, const Box& box, const PeakAnswer* answer) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    Box plot = plot_box(canvas, box);
    plot.bottom = std::floor(box.bottom - TimeArea::axis_height(canvas));
    const auto columns = static_cast<std::size_t>(std::max(std::floor(plot.width()), 1.0F));
    const ViewedRun& run = frame.run();
    const TrackInput input{run, tiers_.look(run, frame.still)};
    if (run.tiers && frame.camera.unit() == AxisUnit::events)
        return false;  // such a replay has only times
    Curves& curves = run.tiers ? *tier_curves_ : *history_curves_;
    if (plot.height() < canvas.px(40) || !curves.look(frame, input, columns))
        return false;
    draw_legend(frame, curves, plot);
    const TimeArea area(frame, plot, "overview");
    canvas.fill(plot, theme.plot);
    const ByteScale scale{plot, top_of(curves)};
    draw_byte_axis(canvas, scale);
    area.draw_grid();
    canvas.clip(plot);
    std::vector<Box> labels;
    curves.draw(frame, area, scale, labels);
    if (answer != nullptr)
        draw_answer(frame, area, scale, *answer, labels);
    canvas.unclip();
    area.draw_cursors();
    area.draw_axis();
    HoverCard card;
    if (!frame.still && area.hovered()) {
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        curves.describe(frame, area, area.to_position(mouse.x), card);
        card.draw(canvas, mouse);
        frame.selection.described = card.text();
    }
    return true;
}

// Where it leaves the plot most of the height.
void OverviewChart::draw_legend(Frame& frame, Curves& curves, Box& plot) {
    const Canvas& canvas = frame.canvas;
    const TimelineLegend legend(canvas, curves.legend(frame), plot.width());
    if (legend.height() > plot.height() * kLegendShare)
        return;
    if (const auto clicked =
            legend.draw(frame, {plot.left, plot.top, plot.right, plot.top + legend.height()}))
        curves.toggle(*clicked);
    plot.top = std::round(plot.top + legend.height() + canvas.px(2));
}

}  // namespace tidemark::viz
