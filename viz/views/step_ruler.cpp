// Thins out steps, and draws them.
#include "viz/views/step_ruler.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/views/track.h"

namespace tidemark::viz {
namespace {

constexpr float kStepApart = 3;      // points between ticks without a number
constexpr float kStepNumberGap = 4;  // points between a tick and its number
constexpr float kStepRoom = 14;      // points between a number and the next tick
constexpr std::uint64_t kMostStride = 1'000'000'000'000'000'000;

// The first step from `i` on whose number is a multiple of `stride`: right where it should be if
// none is missing, else among the next ones.
std::size_t next_numbered(const StepIndex& steps, std::size_t i, std::size_t last,
                          std::uint64_t stride) {
    if (i >= last)
        return last;
    const std::uint64_t away = (stride - steps.number(i) % stride) % stride;
    if (away < last - i && steps.number(i + away) % stride == 0)
        return i + away;
    const std::size_t until = i + std::min<std::uint64_t>(stride, last - i);
    for (; i < until; ++i)
        if (steps.number(i) % stride == 0)
            return i;
    return until;
}

void draw_ticks(Frame& frame, const TimeArea& area, const StepIndex& steps, const Box& row,
                std::size_t first, std::size_t last) {
    const Theme& theme = frame.canvas.theme();
    const float top = row.bottom - std::round(row.height() / 3);
    for (std::size_t i = first; i < last; ++i)
        frame.canvas.vertical(std::floor(area.to_x(steps.position(i, frame.camera.unit()))), top,
                              row.bottom, theme.border);
}

}  // namespace

std::uint64_t step_stride(std::size_t count, float pixels, float label) {
    const double apart =
        static_cast<double>(pixels) / static_cast<double>(std::max<std::size_t>(count, 1));
    for (std::uint64_t decade = 1; decade < kMostStride; decade *= 10)
        for (const std::uint64_t digit : {1U, 2U, 5U})
            if (apart * static_cast<double>(digit * decade) >= static_cast<double>(label))
                return digit * decade;
    return kMostStride;
}

float steps_height(const Canvas& canvas, const StepIndex& steps) {
    return steps.size() == 0 ? 0 : std::round(canvas.line_height() + canvas.px(4));
}

void draw_steps(Frame& frame, const TimeArea& area, const StepIndex& steps, const Box& row,
                const Box& plot) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const AxisUnit unit = frame.camera.unit();
    const Window& window = frame.camera.window();
    const std::size_t first = steps.first_from(unit, window.begin);
    const std::size_t last = steps.first_from(unit, window.end);
    draw_track_name(canvas, row, "steps");
    canvas.horizontal(row.bottom - 1, row.left, row.right, theme.border);
    if (first == last)
        return;
    // Numbers are about as far apart as they are between the first and the last one in view.
    const float from = area.to_x(steps.position(first, unit));
    const float to = last - first > 1 ? area.to_x(steps.position(last - 1, unit)) : row.right;
    const float gap = canvas.px(kStepNumberGap);
    const float widest = canvas.text_width(format_count(steps.number(last - 1)));
    const std::size_t spaces = std::max<std::size_t>(last - first - 1, 1);
    const std::uint64_t stride =
        step_stride(spaces, to - from, widest + gap + canvas.px(kStepRoom));
    canvas.clip({row.left, row.top, row.right, plot.bottom});
    if ((to - from) / static_cast<float>(spaces) >= canvas.px(kStepApart))
        draw_ticks(frame, area, steps, row, first, last);
    float free_from = row.left;
    for (std::size_t i = first; i < last; ++i) {
        i = next_numbered(steps, i, last, stride);
        if (i >= last || steps.number(i) % stride != 0)
            continue;
        const float x = std::floor(area.to_x(steps.position(i, unit)));
        const std::string number = format_count(steps.number(i));
        const float width = canvas.text_width(number);
        if (x < free_from || x + gap + width > row.right)
            continue;
        canvas.vertical(x, row.top + 2, row.bottom, theme.faint_text);
        canvas.vertical(x, plot.top, plot.bottom, mix(theme.plot, theme.text, 0.22));
        canvas.text({x + gap, row.top + 1}, number, theme.faint_text);
        free_from = x + gap + width + gap;
    }
    canvas.unclip();
}

void describe_step(Frame& frame, const TimeArea& area, const StepIndex& steps, ImVec2 mouse,
                   HoverCard& card) {
    const AxisUnit unit = frame.camera.unit();
    const History& history = *frame.run().history;
    const Position under = area.to_position(mouse.x);
    const std::size_t next = steps.first_from(unit, under + 1);
    if (next == 0)
        return;
    const RunStep step = steps.at(next - 1);
    const std::size_t events = history.counts().events;
    const bool is_over = step.end < events;
    const Position begin = steps.position(next - 1, unit);
    const Position end = is_over ? history.position(unit, step.end) : history.end(unit);
    if (under >= end)
        return;
    SeriesColumn column;
    history.series(unit, begin, std::max(end, begin + 1), {&column, 1});
    const Theme& theme = frame.canvas.theme();
    card.head(fmt::format("step {}{}", format_count(step.number), is_over ? "" : ", still open"));
    card.row(0, "length", length_text(unit, end - begin));
    card.row(theme.reserved, "max reserved", format_bytes(column.max[Series::reserved]));
    card.row(theme.allocated, "min allocated", format_bytes(column.min[Series::allocated]));
    card.row(theme.allocated, "max allocated", format_bytes(column.max[Series::allocated]));
    card.row(0, "events", format_count(column.events));
    card.row(0, "starts", position_label(frame, area, begin));
}

}  // namespace tidemark::viz
