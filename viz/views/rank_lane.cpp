// Curves, marks and labels of one rank.
#include "viz/views/rank_lane.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/session/moment.h"

namespace tidemark::viz {
namespace {

constexpr float kLanePad = 4;  // points

// As far as the run goes.
std::span<const SeriesColumn> columns_of(const Frame& frame, std::size_t run, std::size_t columns,
                                         LaneColumns& asked) {
    const ViewedRun& viewed = frame.session.runs[run];
    if (!viewed.history || viewed.history->counts().events == 0)
        return {};
    const AxisUnit unit = frame.camera.unit();
    const Window& window = frame.camera.window();
    const auto all = asked[run].look(viewed.history, unit, window, columns);
    return all.first(columns_before(end_of_run(viewed, unit), window, columns));
}

void draw_curves(Frame& frame, const ByteScale& scale, const RankLane& lane, LaneColumns& asked,
                 std::size_t columns) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const ViewedRun& run = frame.session.runs[lane.rank.run];
    const auto own = columns_of(frame, lane.rank.run, columns, asked);
    if (own.size() < columns && run.history->complete())
        draw_after_end(canvas, scale.box, own.size());
    draw_series(canvas, scale, own, {}, {true, true, true, false},
                run_colour(theme, lane.rank.run, frame.selection.run));
    if (lane.median == lane.rank.run)
        return;
    std::vector<LevelColumn> levels;
    for (const SeriesColumn& column : columns_of(frame, lane.median, columns, asked))
        levels.push_back({column.min[Series::reserved], column.max[Series::reserved],
                          column.last[Series::reserved]});
    draw_level_line(canvas, scale, levels, theme.text, 1);
}

// "rank 5: 71.2 GiB at most, here 60.1 GiB".
std::string lane_text(const Frame& frame, const RankLane& lane) {
    const ViewedRun& run = frame.session.runs[lane.rank.run];
    if (!lane.rank.is_known)
        return fmt::format("rank {}", lane.rank.number);
    std::string text = fmt::format("rank {}: {} at most", lane.rank.number,
                                   format_bytes(lane.rank.peak[Series::reserved]));
    const auto looked = frame.selection.looked_at();
    const auto at = instant_of(run, frame.camera.unit(), looked);
    if (looked && at)
        text += at->has_ended
                    ? std::string(", has ended")
                    : fmt::format(", here {}",
                                  format_bytes(run.history->values(at->event)[Series::reserved]));
    return text;
}

struct LaneMark {
    Position position = 0;
    std::string_view text;
    Colour colour = 0;
};

std::vector<LaneMark> marks_of(const Frame& frame, const RankLane& lane) {
    const Theme& theme = frame.canvas.theme();
    const History& history = *frame.session.runs[lane.rank.run].history;
    const AxisUnit unit = frame.camera.unit();
    std::vector<LaneMark> marks;
    if (lane.leaves)
        marks.push_back({history.position(unit, *lane.leaves), "other requests", theme.accent});
    if (lane.differs) {
        const auto last = static_cast<EventIndex>(history.counts().events - 1);
        const EventIndex event = std::min(history.first_at(*lane.differs), last);
        marks.push_back({unit == AxisUnit::time ? *lane.differs : history.position(unit, event),
                         "other reserved", theme.warning});
    }
    if (lane.rank.refusals > 0)
        marks.push_back(
            {history.position(unit, lane.rank.refused_at), "out of memory", theme.problem});
    return marks;
}

void draw_marks(Frame& frame, const TimeArea& area, const Box& box, const RankLane& lane,
                std::vector<Box>& labels) {
    Canvas& canvas = frame.canvas;
    const Window& window = frame.camera.window();
    for (const LaneMark& mark : marks_of(frame, lane)) {
        if (mark.position < window.begin || mark.position >= window.end)
            continue;
        const float x = std::round(area.to_x(mark.position));
        const float half = canvas.px(5);
        canvas.fill({x, box.top, x + std::round(canvas.px(1.5F)), box.bottom}, mark.colour);
        canvas.triangle({x - half, box.bottom}, {x + half, box.bottom}, {x, box.bottom - 2 * half},
                        mark.colour);
        const bool fits = box.right - x > canvas.text_width(mark.text) + canvas.px(20);
        put_label(canvas,
                  {fits ? x + half + canvas.px(3) : x - half - canvas.px(3),
                   box.bottom - canvas.line_height() - canvas.px(kLanePad)},
                  mark.text, mark.colour, fits ? Align::left : Align::right, labels);
    }
}

}  // namespace

void draw_rank_lane(Frame& frame, const TimeArea& area, const ByteScale& scale,
                    const RankLane& lane, LaneColumns& asked) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const Box& box = scale.box;
    canvas.fill(box, theme.plot);
    draw_byte_axis(canvas, scale);
    canvas.clip(box);
    if (lane.rank.is_known)
        draw_curves(frame, scale, lane, asked, area.columns());
    std::vector<Box> labels;
    put_label(canvas, {box.left + canvas.px(kLanePad), box.top + canvas.px(kLanePad)},
              lane_text(frame, lane), theme.text, Align::left, labels);
    if (lane.rank.is_known)
        draw_marks(frame, area, box, lane, labels);
    canvas.unclip();
    const bool is_shown = lane.rank.run == frame.selection.run;
    canvas.outline(box, is_shown ? theme.selection : theme.border,
                   is_shown ? std::round(canvas.px(2)) : 1);
}

float draw_lane_legend(Canvas& canvas, const Box& box) {
    struct Entry {
        std::string_view text;
        Colour colour;
        bool is_line;
    };

    const Theme& theme = canvas.theme();
    const std::array<Entry, 4> entries{{{"allocated", theme.used, false},
                                        {"waiting for the device", theme.active, false},
                                        {"reserved and free", theme.cached, false},
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
