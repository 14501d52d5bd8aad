// Badges of marks.
#include "viz/views/timeline_marks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/views/track.h"

namespace tidemark::viz {
namespace {

constexpr float kTimelineMarksRowHeight = 20;  // points
constexpr float kTimelineMarksCell = 30;       // points: marks of a kind that are closer are one

struct MarkLook {
    MarkKind kind;
    std::string_view letter;
    std::string_view one;
    std::string_view many;
    Colour Theme::*colour;
    bool grave;  // a line through the plot
};

// Drawn in this order: the gravest last, over the others.
constexpr MarkLook kTimelineMarksLooks[] = {
    {MarkKind::point, "*", "mark", "marks", &Theme::accent, false},
    {MarkKind::trim, "T", "empty_cache by the program", "times empty_cache by the program",
     &Theme::faint_text, false},
    {MarkKind::retry, "R", "retry: cached memory released, then another try", "retries",
     &Theme::warning, false},
    {MarkKind::lost, "?", "events lost", "losses of events", &Theme::warning, true},
    {MarkKind::recorded_out_of_memory, "!", "out of memory when it was recorded",
     "out of memory when they were recorded", &Theme::faint_text, false},
    {MarkKind::out_of_memory, "!", "out of memory", "out of memory", &Theme::problem, true},
};

std::string title_of(const MarkLook& look, const MergedRange& range, const History& history,
                     const Mark& mark) {
    if (range.count > 1)
        return fmt::format("{} {}", format_count(range.count), look.many);
    if (look.kind == MarkKind::point)
        return std::string(history.strings()[mark.name]);
    if (look.kind == MarkKind::lost)
        return fmt::format("{} lost: the program was too fast", format_counted(mark.size, "event"));
    return std::string(look.one);
}

void describe(const Frame& frame, const TimeArea& area, const History& history,
              const MarkPositions& marks, const MarkLook& look, const MergedRange& range,
              HoverCard& card) {
    const Mark mark = history.mark(marks.at(look.kind, range.first));
    card.head(title_of(look, range, history, mark));
    const bool refused =
        look.kind == MarkKind::out_of_memory || look.kind == MarkKind::recorded_out_of_memory;
    if (refused)
        card.row(0, range.count > 1 ? "the first requested" : "requested", format_bytes(mark.size));
    card.row(0, range.count > 1 ? "first at" : "at", position_label(frame, area, range.begin));
    if (range.count > 1)
        card.row(0, "last at", position_label(frame, area, range.end));
    card.row(0, "event", format_count(mark.event));
    if (refused && mark.event < history.counts().events) {
        const SeriesValues values = history.values(mark.event);
        card.row(frame.canvas.theme().reserved, "reserved", format_bytes(values[Series::reserved]));
        card.row(frame.canvas.theme().allocated, "allocated",
                 format_bytes(values[Series::allocated]));
        if (history.capacity() > 0)
            card.row(0, "capacity", format_bytes(history.capacity()));
    }
}

// Cells have fixed ends: neighbours across an edge may still be too close.
std::vector<MergedRange> apart(const std::vector<MergedRange>& ranges, const TimeArea& area,
                               float distance) {
    std::vector<MergedRange> result;
    for (const MergedRange& range : ranges) {
        if (!result.empty() && area.to_x(range.begin) - area.to_x(result.back().begin) < distance) {
            result.back().end = range.end;
            result.back().count += range.count;
        } else {
            result.push_back(range);
        }
    }
    return result;
}

// Returns its box.
Box draw_badge(Canvas& canvas, const MarkLook& look, const MergedRange& range, float x,
               const Box& row) {
    const Theme& theme = canvas.theme();
    const Colour colour = theme.*look.colour;
    const std::string text = range.count > 1
                                 ? fmt::format("{}{}", look.letter, format_count(range.count))
                                 : std::string(look.letter);
    const float width = std::round(std::max(canvas.text_width(text) + canvas.px(6), canvas.px(14)));
    const float left = std::round(std::clamp(x - width / 2, row.left, row.right - width));
    const Box badge{left, row.top + 2, left + width, row.bottom - 3};
    const bool hollow = look.kind == MarkKind::recorded_out_of_memory;
    canvas.fill(badge, hollow ? theme.plot : colour);
    if (hollow)
        canvas.outline(badge, colour);
    canvas.text_within(badge, text, hollow ? colour : theme.ground, Align::centre);
    return badge;
}

}  // namespace

float marks_height(const Canvas& canvas, const MarkPositions& marks) {
    for (const MarkLook& look : kTimelineMarksLooks)
        if (marks.count(look.kind) > 0)
            return std::round(canvas.px(kTimelineMarksRowHeight));
    return 0;
}

std::optional<EventIndex> draw_marks(Frame& frame, const TimeArea& area, const History& history,
                                     const MarkPositions& marks, const Box& row, const Box& plot,
                                     std::optional<ImVec2> mouse, HoverCard& card) {
    Canvas& canvas = frame.canvas;
    const MarkLook* under = nullptr;
    MergedRange pointed;
    for (const MarkLook& look : kTimelineMarksLooks) {
        const auto ranges = marks.ranges(look.kind, frame.camera.unit(), frame.camera.window(),
                                         positions_of(frame, area, canvas.px(kTimelineMarksCell)));
        for (const MergedRange& range : apart(ranges, area, canvas.px(kTimelineMarksCell))) {
            const float x = area.to_x(range.begin);
            if (look.grave)
                canvas.vertical(std::floor(x), plot.top, plot.bottom,
                                mix(canvas.theme().plot, canvas.theme().*look.colour, 0.6));
            const Box badge = draw_badge(canvas, look, range, x, row);
            if (mouse && badge.contains(*mouse)) {
                under = &look;
                pointed = range;
            }
        }
    }
    if (under == nullptr)
        return std::nullopt;
    describe(frame, area, history, marks, *under, pointed, card);
    return history.mark(marks.at(under->kind, pointed.first)).event;
}

}  // namespace tidemark::viz
