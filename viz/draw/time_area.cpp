// TimeArea: see the header.
#include "viz/draw/time_area.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/model/session/moment.h"

namespace tidemark::viz {
namespace {

constexpr double kTimeAreaWheelStep = 1.25;  // factor of one notch
constexpr double kFineWheelStep = 1.05;
constexpr double kWheelPan = 0.1;   // of the window, for a notch with Shift or to the side
constexpr float kClickReach = 4;    // points that a click may move
constexpr float kLabelApart = 110;  // points between labels of the axis
constexpr float kTallEnough = 48;   // points of height from which on a stretch is labelled
constexpr float kTallEnoughForFigures = 120;
constexpr float kTickHeight = 4;             // points
constexpr std::uint32_t kMeasuredVeil = 38;  // of 255
constexpr float kAxisPad = 3;                // points above and below the axis' labels
constexpr float kLeftMargin = 72;            // points for the labels of vertical axes
constexpr float kRightMargin = 12;           // points

Colour with_alpha(Colour colour, std::uint32_t alpha) {
    return (colour & 0x00ffffffU) | alpha << 24U;
}

// What the mouse does with an area that it holds. The second press of a double click may move it
// like any other, but isn't a click: another view may be there when the button goes up.
enum Grip : int { kNone, kPan, kPanAgain, kMeasure };

void wheel(const ImGuiIO& io, Camera& camera, Position about) {
    if (io.MouseWheelH != 0)
        camera.pan(-kWheelPan * static_cast<double>(io.MouseWheelH));
    if (io.MouseWheel == 0)
        return;
    if (io.KeyShift)
        camera.pan(-kWheelPan * static_cast<double>(io.MouseWheel));
    else
        camera.zoom(std::pow(io.KeyCtrl ? kFineWheelStep : kTimeAreaWheelStep,
                             -static_cast<double>(io.MouseWheel)),
                    about);
}

// Has the held button moved further than a hand trembles?
bool is_drag(const ImGuiIO& io, float reach) {
    float farthest = 0;
    for (const int button : {0, 1, 2}) {
        if (io.MouseDown[button] || io.MouseReleased[button])
            farthest = std::max(farthest, io.MouseDragMaxDistanceSqr[button]);
    }
    return farthest > reach * reach;
}

// "12.4 ms, 41,202 events, +3.1 GiB allocated".
std::string measure_text(const Frame& frame, const Window& stretch) {
    const AxisUnit unit = frame.camera.unit();
    std::string text = length_text(unit, stretch.length());
    const ViewedRun* const run = frame.session.shown(frame.selection.run);
    if (run == nullptr || !run->history)
        return text;
    const History& history = *run->history;
    if (unit == AxisUnit::time) {
        const EventSpan span = *measured_span(history, unit, stretch);
        text += ", " + format_counted(span.end() - span.begin(), "event");
    }
    const auto allocated = [&](Position at) {
        const auto event = event_at(history, unit, at);
        return event ? history.values(*event)[Series::allocated] : 0;
    };
    const Bytes before = allocated(stretch.begin);
    const Bytes after = allocated(stretch.end);
    if (before == after)
        return text + ", same allocated";
    return text + (after > before ? fmt::format(", +{} allocated", format_bytes(after - before))
                                  : fmt::format(", -{} allocated", format_bytes(before - after)));
}

// Positions of one pixel: what need not be told apart.
Position resolution(const Camera& camera, const Box& box) {
    const auto width = static_cast<Position>(std::max(box.width(), 1.0F));
    return std::max<Position>(camera.window().length() / width, 1);
}

std::size_t label_count(const Canvas& canvas, const Box& box) {
    return static_cast<std::size_t>(std::max(box.width() / canvas.px(kLabelApart), 1.0F));
}

}  // namespace

void draw_measured_veil(Canvas& canvas, const Box& box) {
    const Colour colour = canvas.theme().selection;
    canvas.fill(box, with_alpha(colour, kMeasuredVeil));
    canvas.vertical(box.left, box.top, box.bottom, colour);
    canvas.vertical(box.right - 1, box.top, box.bottom, colour);
    canvas.fill({box.left, box.top, box.right, box.top + canvas.px(3)}, colour);
}

float beside(float x, float half, const Reach& taken, const Reach& room) {
    if (x + half <= taken.from || x - half >= taken.to)
        return x;
    const float before = taken.from - half;
    const float after = taken.to + half;
    const bool to_right = x >= (taken.from + taken.to) / 2;
    return (to_right && after <= room.to) || before < room.from ? after : before;
}

TimeArea::TimeArea(Frame& frame, const Box& box, const char* id) : frame_(frame), box_(box) {
    if (frame.still || box.width() < 1 || box.height() < 1)
        return;
    const ImVec2 kept = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos({box.left, box.top});
    ImGui::InvisibleButton(id, {box.width(), box.height()},
                           ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight |
                               ImGuiButtonFlags_MouseButtonMiddle);
    ImGui::SetItemAllowOverlap();  // legends and buttons may lie over it
    take_mouse(ImGui::GetID(id));
    ImGui::SetCursorScreenPos(kept);
}

void TimeArea::take_mouse(unsigned id) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool held = ImGui::IsItemActive();
    hovered_ = ImGui::IsItemHovered();
    const Position under = to_position(io.MousePos.x);
    int& grip = *ImGui::GetStateStorage()->GetIntRef(id, kNone);
    if (ImGui::IsItemActivated()) {
        double_clicked_ = io.MouseDoubleClicked[0];
        grip = io.KeyShift && io.MouseClicked[0] ? kMeasure : double_clicked_ ? kPanAgain : kPan;
        frame_.selection.grabbed = under;
    }
    const bool dragged = is_drag(io, frame_.canvas.px(kClickReach));
    if (held && dragged)
        drag(grip == kMeasure, under);
    if (ImGui::IsItemDeactivated()) {
        clicked_ = io.MouseReleased[0] && !dragged && hovered_ && grip == kPan;
        if (clicked_)
            frame_.selection.cursor = std::clamp<Position>(under, 0, frame_.camera.extent() - 1);
        grip = kNone;
        frame_.selection.grabbed.reset();
    }
    if (!hovered_)
        return;
    frame_.selection.point_at(under);
    wheel(io, frame_.camera, under);
}

void TimeArea::drag(bool measures, Position under) {
    Camera& camera = frame_.camera;
    const Position grabbed = frame_.selection.grabbed.value_or(under);
    if (measures) {
        const Position last = camera.extent();
        const auto [first, second] = std::minmax(grabbed, under);
        const Position begin = std::clamp<Position>(first, 0, last - 1);
        frame_.selection.measure = Window{begin, std::clamp(second, begin + 1, last)};
        return;
    }
    const Window window = camera.window();
    const Position way = grabbed - under;
    camera.show({window.begin + way, window.end + way});
}

std::size_t TimeArea::columns() const {
    return static_cast<std::size_t>(std::max(std::floor(box_.width()), 1.0F));
}

float TimeArea::to_x(Position position) const {
    // Distant positions count as just outside, and fit a float.
    const double width = static_cast<double>(box_.width());
    const double x = frame_.camera.to_x(position, width);
    return box_.left + static_cast<float>(std::clamp(x, -width - 100, 2 * width + 100));
}

Position TimeArea::to_position(float x) const {
    return frame_.camera.to_position(static_cast<double>(x - box_.left),
                                     static_cast<double>(box_.width()));
}

void TimeArea::draw_grid() const {
    Canvas& canvas = frame_.canvas;
    const AxisTicks axis =
        time_ticks(frame_.camera.unit(), frame_.camera.window(), label_count(canvas, box_));
    for (const Tick& tick : axis.ticks)
        canvas.vertical(to_x(tick.position), box_.top, box_.bottom, canvas.theme().grid);
}

void TimeArea::draw_axis() const {
    Canvas& canvas = frame_.canvas;
    const Theme& theme = canvas.theme();
    const AxisTicks axis =
        time_ticks(frame_.camera.unit(), frame_.camera.window(), label_count(canvas, box_));
    const float top = box_.bottom;
    const float tick = canvas.px(kTickHeight);
    const float text_top = top + tick + canvas.px(kAxisPad) / 2;
    canvas.horizontal(top, box_.left, box_.right, theme.border);
    for (const Position fine : axis.fine)
        canvas.vertical(to_x(fine), top, top + tick / 2, theme.border);
    for (const Tick& at : axis.ticks)
        canvas.vertical(to_x(at.position), top, top + tick, theme.faint_text);
    const std::vector<AxisLabel> labels = position_labels();
    draw_axis_labels(axis, text_top, labels);
    for (const AxisLabel& label : labels)
        canvas.label({(label.left + label.right) / 2, text_top}, label.text, label.colour,
                     Align::centre);
}

// Those of the ticks, except where a position has a label of its own.
void TimeArea::draw_axis_labels(const AxisTicks& axis, float top,
                                const std::vector<AxisLabel>& taken) const {
    Canvas& canvas = frame_.canvas;
    const auto is_taken = [&taken](float left, float right) {
        return std::ranges::any_of(taken, [&](const AxisLabel& label) {
            return left < label.right && label.left < right;
        });
    };
    float free_from = box_.left - canvas.px(kLeftMargin);
    if (!axis.base.empty()) {
        const std::string base = axis.base + " ";
        free_from += canvas.text({free_from, top}, base, canvas.theme().text);
    }
    for (const Tick& tick : axis.ticks) {
        const float width = canvas.text_width(tick.label);
        const float room = box_.right + canvas.px(kRightMargin);
        // In the middle under its tick, but never cut off by the window's edge.
        const float left = std::min(to_x(tick.position) - width / 2, room - width);
        if (left < free_from || is_taken(left, left + width))
            continue;
        canvas.text({left, top}, tick.label, canvas.theme().faint_text);
        free_from = left + width + canvas.px(kAxisPad) * 2;
    }
}

// Those of the cursor and of the mouse, if they are in view: next to each other.
std::vector<TimeArea::AxisLabel> TimeArea::position_labels() const {
    const Theme& theme = frame_.canvas.theme();
    const Selection& selection = frame_.selection;
    std::vector<AxisLabel> labels;
    if (selection.cursor)
        add_label(labels, *selection.cursor, theme.cursor);
    if (selection.hover && selection.hover != selection.cursor)
        add_label(labels, *selection.hover, theme.text);
    return labels;
}

// Below its position, with its whole width inside; next to an existing one, on the side of the
// position, or else where there is room.
void TimeArea::add_label(std::vector<AxisLabel>& labels, Position position, Colour colour) const {
    const Window& window = frame_.camera.window();
    if (position < window.begin || position >= window.end)
        return;
    const Canvas& canvas = frame_.canvas;
    std::string text =
        position_text(frame_.camera.unit(), position, resolution(frame_.camera, box_));
    const float half = canvas.text_width(text) / 2 + canvas.px(kAxisPad) + 1;
    const float least = box_.left + half - canvas.px(kLeftMargin) / 2;
    const float most = std::max(box_.right - half, box_.left + half);
    float x = std::clamp(to_x(position), least, most);
    for (const AxisLabel& other : labels)
        x = beside(x, half, {other.left, other.right}, {least, most});
    labels.push_back({std::move(text), x - half, x + half, colour});
}

// Left of the peak, not over it: it may be one pixel wide.
float TimeArea::left_of(Position at) const {
    return std::max(std::floor(to_x(at)) - 1, box_.left);
}

void TimeArea::draw_cursors() const {
    Canvas& canvas = frame_.canvas;
    const Selection& selection = frame_.selection;
    const Window& window = frame_.camera.window();
    const auto is_seen = [&window](Position at) { return at >= window.begin && at < window.end; };
    canvas.clip(box_);
    if (selection.measure)
        draw_measure(*selection.measure);
    if (selection.hover && is_seen(*selection.hover))
        canvas.vertical(left_of(*selection.hover), box_.top, box_.bottom,
                        mix(canvas.theme().plot, canvas.theme().text, 0.5));
    if (selection.cursor && is_seen(*selection.cursor))
        canvas.vertical(left_of(*selection.cursor), box_.top, box_.bottom, canvas.theme().cursor);
    canvas.unclip();
}

// The veil over it, and its figures.
void TimeArea::draw_measure(const Window& stretch) const {
    Canvas& canvas = frame_.canvas;
    const float left = to_x(stretch.begin);
    const float right = std::max(to_x(stretch.end), left + 1);
    if (right < box_.left || left > box_.right)
        return;
    draw_measured_veil(canvas, {left, box_.top, right, box_.bottom});
    if (box_.height() >= canvas.px(kTallEnough) && !frame_.selection.shows_measured)
        draw_measured_figures(stretch, {std::max(left, box_.left), std::min(right, box_.right)});
}

// Its length and, where there is room, minimum, mean and maximum of reserved and allocated memory:
// once in the window, in the first view over the time axis. Next to the range, so that the measured
// part stays visible, if there is room on either side.
void TimeArea::draw_measured_figures(const Window& stretch, const Reach& reach) const {
    Canvas& canvas = frame_.canvas;
    const Theme& theme = canvas.theme();
    frame_.selection.shows_measured = true;
    const std::string title = measure_text(frame_, stretch);
    const RangeSummary* const summary =
        frame_.measured == nullptr || box_.height() < canvas.px(kTallEnoughForFigures)
            ? nullptr
            : frame_.measured->of(frame_.camera.unit(), stretch);
    const std::array<Series, 2> curves{Series::reserved, Series::allocated};
    const std::array<Colour, 2> colours{theme.reserved, theme.allocated};
    const auto cells = [&](Series series) {
        const SeriesRange& range = summary->series[static_cast<std::size_t>(series)];
        return std::array<std::string, 4>{
            std::string(to_text(series)), "min " + format_bytes(range.min),
            "mean " + format_bytes(range.mean), "max " + format_bytes(range.max)};
    };
    const float gap = canvas.px(12);
    const float pad = canvas.px(kAxisPad) * 2;
    const float mark = std::round(canvas.px(9));
    std::array<float, 4> widths{};
    float rows = 0;
    if (summary != nullptr) {
        for (const Series series : curves)
            for (std::size_t i = 0; const std::string& cell : cells(series)) {
                widths[i] = std::max(widths[i], canvas.text_width(cell));
                ++i;
            }
        rows = mark + pad + widths[0] + widths[1] + widths[2] + widths[3] + 3 * gap;
    }
    const float line = canvas.line_height() + canvas.px(2);
    const float width = std::max(canvas.text_width(title), rows) + 2 * pad;
    const float apart = canvas.px(4);
    const float middle = (reach.from + reach.to) / 2;
    float left = std::clamp(middle - width / 2, box_.left, std::max(box_.right - width, box_.left));
    if (summary != nullptr && reach.from - apart - width >= box_.left)
        left = reach.from - apart - width;
    else if (summary != nullptr && reach.to + apart + width <= box_.right)
        left = reach.to + apart;
    left = std::round(left);
    float top = std::round(box_.top + canvas.px(6));
    const float lines = summary == nullptr ? 1.0F : 3.0F;
    const Box card{left, top, left + width, top + lines * line + pad};
    canvas.fill(card, theme.panel);
    canvas.outline(card, theme.selection);
    top += std::round(pad / 2);
    canvas.text_within({left + pad, top, card.right - pad + 1, top + line}, title, theme.text);
    for (std::size_t curve = 0; summary != nullptr && curve < curves.size(); ++curve) {
        top += line;
        const float middle_of_line = std::round(top + canvas.line_height() / 2);
        float x = left + pad;
        canvas.fill({x, middle_of_line - std::round(mark / 2), x + mark,
                     middle_of_line - std::round(mark / 2) + mark},
                    colours[curve]);
        x += mark + pad;
        for (std::size_t i = 0; const std::string& cell : cells(curves[curve])) {
            canvas.text({x, top}, cell, i == 0 ? theme.faint_text : theme.text);
            x += widths[i] + gap;
            ++i;
        }
    }
}

float TimeArea::axis_height(const Canvas& canvas) {
    return std::ceil(canvas.line_height() + canvas.px(kTickHeight + 2 * kAxisPad));
}

Box plot_box(const Canvas& canvas, const Box& area) {
    const float left = std::round(area.left + canvas.px(kLeftMargin));
    const float right = std::round(area.right - canvas.px(kRightMargin));
    return {left, area.top, std::max(right, left + 1), area.bottom};
}

}  // namespace tidemark::viz
