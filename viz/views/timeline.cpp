// Timeline: a run's memory over time: curves with their gaps shaded, marks above them, tracks for
// other data of the same time below, one axis under all.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "replay/report/forms/axis_ticks.h"
#include "viz/model/session/moment.h"
#include "viz/views/curves.h"
#include "viz/views/hit_ticks.h"
#include "viz/views/step_ruler.h"
#include "viz/views/tier_follower.h"
#include "viz/views/timeline_marks.h"
#include "viz/views/track_stack.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kTimelineMarksAFrame = 1U << 16U;
constexpr double kTimelineHeadroom = 1.10;  // above the highest point
constexpr double kNearCapacity = 1.35;      // at this distance, the capacity is in view as well
constexpr float kTimelinePad = 6;           // points
constexpr float kHitsHeight = 4;            // points

// The parts of the view, from the top.
struct TimelineBoxes {
    Box legend;
    Box steps;
    Box marks;
    Box plot;
    Box tracks;
    Box whole;  // steps to tracks: the parts that take the mouse
};

class TimelineView final : public View {
  public:
    void draw(Frame& frame) override {
        const ViewedRun* const run = frame.session.shown(frame.selection.run);
        if (run == nullptr)
            return draw_message(frame, "nothing is open");
        const TrackInput input{*run, tiers_.look(*run, frame.still)};
        if (run->tiers && !run->history && frame.camera.unit() == AxisUnit::events)
            return draw_message(frame, "a replay over tiers has only times: X goes back to them");
        Curves& curves = run->history ? *history_curves_ : *tier_curves_;
        const Box across = plot_box(frame.canvas, frame.area);
        const auto columns = static_cast<std::size_t>(std::max(std::floor(across.width()), 1.0F));
        if (!curves.look(frame, input, columns))
            return draw_message(frame, tiers_.busy() ? "sorting moves" : "no events yet");
        const std::size_t most = frame.still ? ~std::size_t{0} >> 1U : kTimelineMarksAFrame;
        more_marks_ = false;
        if (run->history) {
            more_marks_ = marks_.follow(run->history, most);
            more_marks_ = steps_.follow(run->history, most) || more_marks_;
        }
        draw_run(frame, input, curves);
    }

    bool busy() const override {
        return more_marks_ || tiers_.busy() || history_curves_->busy() || tracks_.busy();
    }

  private:
    static void draw_message(Frame& frame, std::string_view text) {
        const Box& area = frame.area;
        frame.canvas.text({(area.left + area.right) / 2, (area.top + area.bottom) / 2}, text,
                          frame.canvas.theme().faint_text, Align::centre);
    }

    void draw_run(Frame& frame, const TrackInput& input, Curves& curves) {
        Canvas& canvas = frame.canvas;
        const TimelineLegend legend(canvas, curves.legend(frame),
                                    plot_box(canvas, frame.area).width(), switch_width(canvas));
        const TimelineBoxes boxes = boxes_of(frame, input, legend.height());
        TimeArea area(frame, boxes.whole, "timeline");
        if (const auto clicked = legend.draw(frame, boxes.legend))
            curves.toggle(*clicked);
        draw_scale_switch(frame, boxes.legend);
        const auto mouse = mouse_of(frame, area);

        canvas.fill(boxes.plot, canvas.theme().plot);
        const ByteScale scale{boxes.plot, top_of(curves)};
        draw_byte_axis(canvas, scale);
        area.draw_grid();
        canvas.clip(boxes.plot);
        std::vector<Box> labels;
        curves.draw(frame, area, scale, labels);
        canvas.unclip();
        HoverCard card;
        const bool in_plot = mouse && boxes.plot.contains(*mouse);
        if (boxes.steps.height() > 0)
            draw_steps(frame, area, steps_, boxes.steps, boxes.plot);
        if (mouse && boxes.steps.contains(*mouse))
            describe_step(frame, area, steps_, *mouse, card);
        if (in_plot)
            curves.describe(frame, area, area.to_position(mouse->x), card);
        if (input.run.history && boxes.marks.height() > 0)
            draw_marks(frame, area, *input.run.history, marks_, boxes.marks, boxes.plot, mouse,
                       card);
        if (area.clicked())
            frame.selection.used.clear();
        tracks_.draw(frame, input, area, boxes.tracks, mouse, card);
        area.draw_cursors();
        area.draw_axis();
        const float axis = boxes.whole.bottom + 1;
        hits_.draw(frame,
                   {boxes.whole.left, axis, boxes.whole.right, axis + canvas.px(kHitsHeight)},
                   frame.camera.window());
        select_clicked(frame, input, area);
        if (mouse) {
            card.draw(canvas, *mouse);
            frame.selection.described = card.text();
            if (!in_plot)
                frame.selection.detail = card.text();
        }
    }

    TimelineBoxes boxes_of(Frame& frame, const TrackInput& input, float legend_height) {
        Canvas& canvas = frame.canvas;
        const float pad = std::round(canvas.px(kTimelinePad));
        const Box across = plot_box(canvas, frame.area);
        const float bottom = std::floor(frame.area.bottom - TimeArea::axis_height(canvas));
        TimelineBoxes boxes;
        boxes.legend = {across.left, std::round(frame.area.top + pad), across.right, 0};
        boxes.legend.bottom = boxes.legend.top + legend_height;
        float top = std::round(boxes.legend.bottom + pad / 2);
        const float steps = input.run.history ? steps_height(canvas, steps_) : 0;
        boxes.steps = {across.left, top, across.right, top + steps};
        top = boxes.steps.bottom;
        const float marks = input.run.history ? marks_height(canvas, marks_) : 0;
        boxes.marks = {across.left, top, across.right, top + marks};
        const float tracks = tracks_.prepare(frame, input, bottom - boxes.marks.bottom);
        boxes.plot = {across.left, boxes.marks.bottom, across.right, bottom - tracks};
        boxes.tracks = {across.left, boxes.plot.bottom, across.right, bottom};
        boxes.whole = {across.left, boxes.steps.top, across.right, bottom};
        return boxes;
    }

    // Room for the switch at the right of the legend.
    static float switch_width(const Canvas& canvas) {
        return canvas.text_width(kToCapacity) + canvas.px(24);
    }

    static constexpr std::string_view kToCapacity = "scale: capacity (V)";
    static constexpr std::string_view kInView = "scale: in view (V)";

    // The scale of the axis, and the moment of the legend's values.
    void draw_scale_switch(Frame& frame, const Box& legend) {
        Canvas& canvas = frame.canvas;
        const std::string_view text = to_capacity_ ? kToCapacity : kInView;
        const float width = canvas.text_width(text);
        const Box box{legend.right - width, legend.top, legend.right,
                      legend.top + canvas.line_height()};
        canvas.text({box.left, box.top}, text, canvas.theme().accent);
        const float under = box.bottom + canvas.px(5);
        if (legend.bottom >= under + canvas.line_height())
            canvas.text({legend.right, under}, values_are_at(frame), canvas.theme().faint_text,
                        Align::right);
        if (frame.still)
            return;
        const Press press = frame.press(box, "scale");
        if (press.hovered)
            canvas.horizontal(box.bottom, box.left, box.right, canvas.theme().accent);
        const ImGuiIO& io = ImGui::GetIO();
        const bool key = !io.WantTextInput && !io.KeyCtrl &&
                         ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_V), false);
        if (press.clicked || key)
            to_capacity_ = !to_capacity_;
    }

    static std::string values_are_at(const Frame& frame) {
        if (!frame.selection.looked_at())
            return "values at the peak";
        const Position resolution =
            std::max<Position>(frame.camera.window().length() / kFinestStep, 1);
        return fmt::format("values at {}", position_text(frame.camera.unit(),
                                                         *frame.selection.looked_at(), resolution));
    }

    static constexpr Position kFinestStep = 1000;  // of the window: the precision of a pixel

    Bytes top_of(const Curves& curves) const {
        const Bytes highest = std::max<Bytes>(curves.highest(), 1024);
        const Bytes capacity = curves.capacity();
        const auto scaled = [](Bytes bytes, double by) {
            return static_cast<Bytes>(static_cast<double>(bytes) * by);
        };
        const bool near = capacity > 0 && capacity <= scaled(highest, kNearCapacity);
        const bool with_capacity = capacity > 0 && (to_capacity_ || near);
        return std::max(scaled(highest, kTimelineHeadroom),
                        with_capacity ? scaled(capacity, 1.06) : 0);
    }

    static std::optional<ImVec2> mouse_of(const Frame& frame, const TimeArea& area) {
        if (frame.still || !area.hovered())
            return std::nullopt;
        return ImGui::GetIO().MousePos;
    }

    // A click puts the cursor; close by, it also selects the block that the event is about.
    static void select_clicked(Frame& frame, const TrackInput& input, const TimeArea& area) {
        if (!area.clicked() || !input.run.history || !frame.selection.cursor)
            return;
        const History& history = *input.run.history;
        const AxisUnit unit = frame.camera.unit();
        const auto event = event_at(history, unit, *frame.selection.cursor);
        if (!event)
            return;
        const float away =
            area.to_x(*frame.selection.cursor) - area.to_x(history.position(unit, *event));
        const BlockIndex block = history.block_at(*event);
        if (away < frame.canvas.px(kTimelinePad) && block != kNoBlock)
            frame.selection.block = block;
    }

    std::unique_ptr<Curves> history_curves_ = history_curves();
    std::unique_ptr<Curves> tier_curves_ = tier_curves();
    TrackStack tracks_{make_tracks()};
    TierFollower tiers_;
    MarkPositions marks_;
    StepIndex steps_;
    HitTicks hits_;
    bool more_marks_ = false;
    bool to_capacity_ = false;
};

}  // namespace

ViewInfo timeline_view() {
    return {"timeline", "Timeline",
            "Reserved, allocated, active and requested memory over time, with marks and lanes.",
            Pane::main, make_view<TimelineView>};
}

}  // namespace tidemark::viz
