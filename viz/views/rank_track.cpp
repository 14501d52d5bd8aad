// Curves, marks and labels of one rank.
#include "viz/views/rank_track.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/session/moment.h"

namespace tidemark::viz {
namespace {

constexpr float kRankTrackPad = 4;  // points

// As far as the run goes.
std::span<const SeriesColumn> columns_of(const Frame& frame, std::size_t run, std::size_t columns,
                                         TrackColumns& known) {
    const ViewedRun& viewed = frame.session.runs[run];
    if (!viewed.history || viewed.history->counts().events == 0)
        return {};
    const AxisUnit unit = frame.camera.unit();
    const Window& window = frame.camera.window();
    const auto all = known[run].look(viewed.history, unit, window, columns);
    return all.first(columns_before(end_of_run(viewed, unit), window, columns));
}

void draw_curves(Frame& frame, const ByteScale& scale, const RankTrack& track, TrackColumns& known,
                 std::size_t columns) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const ViewedRun& run = frame.session.runs[track.rank.run];
    const auto own = columns_of(frame, track.rank.run, columns, known);
    if (own.size() < columns && run.history->complete())
        draw_after_end(canvas, scale.box, own.size());
    draw_series(canvas, scale, own, {}, {true, true, true, false},
                run_colour(theme, track.rank.run, frame.selection.run));
    if (track.median == track.rank.run)
        return;
    std::vector<LevelColumn> levels;
    for (const SeriesColumn& column : columns_of(frame, track.median, columns, known))
        levels.push_back({column.min[Series::reserved], column.max[Series::reserved],
                          column.last[Series::reserved]});
    draw_level_line(canvas, scale, levels, theme.text, 1);
}

// In the margin: its rank, and below what it has reserved at the looked-at moment, else its peak.
void draw_name(Frame& frame, const Box& box, const RankTrack& track) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const ViewedRun& run = frame.session.runs[track.rank.run];
    const auto looked = frame.selection.looked_at();
    std::string value;
    if (track.rank.is_known && looked) {
        const auto at = instant_of(run, frame.camera.unit(), looked);
        value = !at             ? ""
                : at->has_ended ? "ended"
                                : format_bytes(run.history->values(at->event)[Series::reserved]);
    } else if (track.rank.is_known) {
        value = format_bytes(track.rank.peak[Series::reserved]);
    }
    const float line = canvas.line_height();
    const float top = std::round((box.top + box.bottom) / 2 - line);
    const float right = box.left - canvas.px(8);
    const Box margin{right - canvas.px(64), top, right, top + line};
    canvas.text_within(margin, "rank " + track.rank.number, theme.text, Align::right);
    canvas.text_within({margin.left, top + line, right, top + 2 * line}, value,
                       looked ? theme.text : theme.faint_text, Align::right);
}

struct RankMark {
    Position position = 0;
    std::string_view text;
    Colour colour = 0;
};

std::vector<RankMark> marks_of(const Frame& frame, const RankTrack& track) {
    const Theme& theme = frame.canvas.theme();
    const History& history = *frame.session.runs[track.rank.run].history;
    const AxisUnit unit = frame.camera.unit();
    std::vector<RankMark> marks;
    if (track.leaves)
        marks.push_back({history.position(unit, *track.leaves), "requests diverge", theme.accent});
    if (track.differs) {
        const auto last = static_cast<EventIndex>(history.counts().events - 1);
        const EventIndex event = std::min(history.first_at(*track.differs), last);
        marks.push_back({unit == AxisUnit::time ? *track.differs : history.position(unit, event),
                         "reserved diverges", theme.warning});
    }
    if (track.rank.refusals > 0)
        marks.push_back(
            {history.position(unit, track.rank.refused_at), "out of memory", theme.problem});
    return marks;
}

// Each kind has its own height, so that marks of one moment can be read.
void draw_marks(Frame& frame, const TimeArea& area, const Box& box, const RankTrack& track) {
    Canvas& canvas = frame.canvas;
    const Window& window = frame.camera.window();
    const float line = canvas.line_height();
    float top = box.bottom - line - canvas.px(kRankTrackPad);
    for (const RankMark& mark : marks_of(frame, track)) {
        const float label_top = std::exchange(top, std::max(top - line, box.top));
        if (mark.position < window.begin || mark.position >= window.end)
            continue;
        const float x = std::round(area.to_x(mark.position));
        const float half = std::round(canvas.px(5));
        canvas.fill({x, box.top, x + std::round(canvas.px(1.5F)), box.bottom}, mark.colour);
        canvas.triangle({x - half, box.bottom}, {x + half, box.bottom}, {x, box.bottom - 2 * half},
                        mark.colour);
        const float beside = half + canvas.px(4);
        const bool fits = box.right - x > canvas.text_width(mark.text) + 2 * beside;
        canvas.label({fits ? x + beside : x - beside, label_top}, mark.text, mark.colour,
                     fits ? Align::left : Align::right);
    }
}

}  // namespace

void draw_rank_track(Frame& frame, const TimeArea& area, const ByteScale& scale,
                     const RankTrack& track, TrackColumns& known) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const Box& box = scale.box;
    canvas.fill(box, theme.plot);
    draw_name(frame, box, track);
    canvas.clip(box);
    if (track.rank.is_known) {
        draw_curves(frame, scale, track, known, area.columns());
        draw_marks(frame, area, box, track);
    } else {
        draw_after_end(canvas, box, 0);
        canvas.label({box.left + canvas.px(8), (box.top + box.bottom - canvas.line_height()) / 2},
                     "not loaded", theme.faint_text);
    }
    canvas.unclip();
    const bool is_shown = track.rank.run == frame.selection.run;
    canvas.outline(box, is_shown ? theme.selection : theme.border,
                   is_shown ? std::round(canvas.px(2)) : 1);
}

float draw_rank_legend(Canvas& canvas, const Box& box) {
    struct Entry {
        std::string_view text;
        Colour colour;
        bool is_line;
    };

    const Theme& theme = canvas.theme();
    const std::array<Entry, 4> entries{{{"allocated", theme.used, false},
                                        {"pending free", theme.active, false},
                                        {"reserved, free", theme.cached, false},
                                        {"the median rank's reserved", theme.text, true}}};
    const float height = std::ceil(canvas.line_height() * 1.4F);
    const float side = canvas.px(10);
    const float middle = std::round(box.top + height / 2);
    float x = box.left;
    for (const Entry& entry : entries) {
        const float end = x + side + canvas.px(6) + canvas.text_width(entry.text);
        if (end > box.right)
            break;
        const float half = entry.is_line ? 1 : side / 2;
        canvas.fill({x, middle - half, x + side, middle + half - (entry.is_line ? 1 : 0)},
                    entry.colour);
        canvas.text({x + side + canvas.px(6), middle - canvas.line_height() / 2}, entry.text,
                    theme.faint_text);
        x = end + canvas.px(18);
    }
    return height;
}

}  // namespace tidemark::viz
