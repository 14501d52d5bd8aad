// Searches, words and marks differences.
#include "viz/views/compare_differences.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/views/compare_plot.h"
#include "viz/views/timeline_plot.h"

namespace tidemark::viz {
namespace {

constexpr Position kCloseUp = 20;  // of the whole axis: what is shown about a difference

void show_about(Frame& frame, Position at) {
    const Position half = std::max<Position>(
        std::min(frame.camera.window().length(), frame.camera.extent() / kCloseUp) / 2,
        Camera::kShortest);
    frame.camera.show({at - half, at + half});
    frame.selection.cursor = at;
}

// A button that ends at `right`; false: not clicked. Moves `right` to where it starts.
bool draw_button(Frame& frame, const Box& line, float& right, std::string_view text,
                 const char* id) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const float left = right - canvas.text_width(text) - canvas.px(16);
    const Box box{left, line.top, right, line.top + ImGui::GetFrameHeight()};
    const Press press = frame.press(box, id);
    canvas.fill(box, press.hovered ? mix(theme.panel, theme.accent, 0.3) : theme.panel);
    canvas.outline(box, theme.border);
    canvas.text({(left + right) / 2, box.top + canvas.px(3)}, text, theme.accent, Align::centre);
    right = left - canvas.px(6);
    return press.clicked;
}

}  // namespace

void CompareDifferences::look(const Frame& frame, const std::shared_ptr<const History>& one,
                              const std::shared_ptr<const History>& other, bool aligned) {
    const Pair pair{one, other};
    const AxisUnit unit = frame.camera.unit();
    const std::size_t events = std::min(one->counts().events, other->counts().events);
    const bool is_other = pair != pair_ || aligned != aligned_ || unit != unit_;
    if (is_other) {
        pair_ = pair;
        first_.reset();
        largest_.reset();
    }
    if (is_other || (events != events_ && !busy())) {
        events_ = events;
        start(aligned, unit);
    }
    if (auto found = frame.still ? first_job_.wait() : first_job_.take())
        first_ = *found;
    if (auto found = frame.still ? largest_job_.wait() : largest_job_.take())
        largest_ = *found;
}

void CompareDifferences::start(bool aligned, AxisUnit unit) {
    aligned_ = aligned;
    unit_ = unit;
    largest_job_.start([pair = pair_, unit](const Cancelled& cancelled) {
        return largest_difference(*pair.first, *pair.second, Series::reserved, unit, cancelled);
    });
    if (!aligned)
        return first_job_.cancel();
    if (!first_ || !first_->reserved)
        first_job_.start([pair = pair_](const Cancelled& cancelled) {
            return find_divergence(*pair.first, *pair.second, cancelled);
        });
}

std::string CompareDifferences::text() const {
    if (!aligned_)
        return "Different traces: aligned by the time since each one's start.";
    if (!first_)
        return "Looking for the first difference ...";
    if (first_->reserved)
        return fmt::format("Reserved memory differs first at event {}.",
                           format_count(*first_->reserved));
    return fmt::format("No difference in reserved memory in {}.",
                       format_counted(first_->compared, "event"));
}

float CompareDifferences::draw_buttons(Frame& frame, const Box& line,
                                       const History& history) const {
    float right = line.right;
    if (largest_ && draw_button(frame, line, right, "Largest difference", "largest"))
        show_about(frame, largest_->position);
    if (aligned_ && first_ && first_->reserved &&
        draw_button(frame, line, right, "First difference", "first-difference"))
        show_about(frame, history.position(frame.camera.unit(), *first_->reserved));
    return right;
}

void CompareDifferences::mark_first(Frame& frame, const TimeArea& area, const Box& box,
                                    const History& history) const {
    if (!aligned_ || !first_ || !first_->reserved)
        return;
    const Position at = history.position(frame.camera.unit(), *first_->reserved);
    const Window& window = frame.camera.window();
    if (at < window.begin || at >= window.end)
        return;
    Canvas& canvas = frame.canvas;
    const float x = std::round(area.to_x(at));
    const Colour colour = canvas.theme().warning;
    const float reach = canvas.px(5);
    for (float y = box.top; y < box.bottom; y += canvas.px(8))
        canvas.vertical(x, y, std::min(y + canvas.px(4), box.bottom), colour);
    canvas.triangle({x - reach, box.top - reach}, {x + reach, box.top - reach},
                    {x, box.top + reach}, colour);
}

void CompareDifferences::label_largest(Frame& frame, const TimeArea& area, const Box& box,
                                       std::vector<Box>& labels) const {
    if (!largest_)
        return;
    const Window& window = frame.camera.window();
    if (largest_->position < window.begin || largest_->position >= window.end)
        return;
    Canvas& canvas = frame.canvas;
    const std::string text = "at most " + signed_bytes(largest_->bytes);
    const float x = std::round(area.to_x(largest_->position));
    const bool is_left = x - canvas.text_width(text) - canvas.px(14) > box.left;
    const float line = canvas.line_height();
    const float top =
        largest_->bytes > 0 ? box.top + canvas.px(4) : box.bottom - line - canvas.px(6);
    put_label(canvas, {is_left ? x - canvas.px(6) : x + canvas.px(6), top}, text,
              canvas.theme().text, is_left ? Align::right : Align::left, labels);
}

}  // namespace tidemark::viz
