// Side by side: the address maps of A and B under one clock and at one scale of bytes, what each
// has reserved at the looked-at moment, and the gap between them in numbers. While playing, both
// are drawn only up to the cursor.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "viz/draw/fonts.h"
#include "viz/draw/table.h"
#include "viz/model/navigation/compared_runs.h"
#include "viz/model/session/moment.h"
#include "viz/views/address_map.h"
#include "viz/views/compare_plot.h"
#include "viz/views/overview_writer.h"
#include "viz/views/timeline_legend.h"
#include "viz/views/timeline_plot.h"

namespace tidemark::viz {
namespace {

constexpr float kPairPad = 10;      // points
constexpr float kLeastWide = 760;   // points of width from which on they are next to each other
constexpr float kPairCurve = 96;    // points of the curves below
constexpr float kCurvesFrom = 420;  // of height from which on there are some
constexpr double kPairHeadroom = 1.08;
constexpr std::size_t kPair = 2;

class SideBySideView final : public View {
  public:
    void draw(Frame& frame) override {
        order_ = comparison_order(frame.session, frame.selection);
        if (order_.size() < kPair)
            return draw_notice(frame.canvas, frame.area, missing_text(frame.session));
        order_.resize(kPair);
        Canvas& canvas = frame.canvas;
        const float pad = canvas.px(kPairPad);
        canvas.clip(frame.area);
        Writer page{canvas, frame.area.inset(pad)};
        page.headline(comparison_verdict(frame.session, order_), canvas.theme().text);
        page.skip(6);
        Box rest{frame.area.left, page.box.top, frame.area.right, frame.area.bottom};
        if (frame.area.height() >= canvas.px(kCurvesFrom)) {
            const float axis = TimeArea::axis_height(canvas);
            const Box curves{rest.left, rest.bottom - canvas.px(kPairCurve) - 2 * axis, rest.right,
                             rest.bottom};
            rest.bottom = curves.top - pad;
            draw_curves(frame, curves);
        }
        draw_pair(frame, rest);
        canvas.unclip();
    }

    bool busy() const override {
        return std::ranges::any_of(maps_, [](const AddressMap& map) { return map.busy(); });
    }

  private:
    static std::string missing_text(const Session& session) {
        for (const ViewedRun& run : session.runs) {
            if (run.state.phase == LoadState::Phase::failed)
                return to_text(run.state.error);
            if (run.state.phase != LoadState::Phase::ready)
                return run.state.activity.empty() ? "Loading\u2026" : run.state.activity + "\u2026";
        }
        return "There is one run only. U replays it under the setting that a finding suggests, "
               "Shift-U under any;\n"
               "or open the trace under several:  tidemark view FILE -p torch -p best-fit";
    }

    // The reserved memory at the looked-at moment, else at the run's peak.
    static Bytes reserved_of(const Frame& frame, std::size_t run) {
        const ViewedRun& viewed = frame.session.runs[run];
        const auto at = instant_of(viewed, frame.camera.unit(), frame.selection.looked_at());
        return at ? viewed.history->values(at->event)[Series::reserved] : 0;
    }

    static std::string when_text(const Frame& frame) {
        const auto at = frame.selection.looked_at();
        return at ? "at " +
                        position_text(frame.camera.unit(), *at,
                                      std::max<Position>(frame.camera.window().length() / 1000, 1))
                  : std::string("at the peak");
    }

    void draw_pair(Frame& frame, const Box& box) {
        const Bytes longest = std::max(maps_[0].length(), maps_[1].length());
        const bool is_wide = box.width() >= frame.canvas.px(kLeastWide);
        const float gap = frame.canvas.px(kPairPad);
        for (std::size_t i = 0; i < kPair; ++i) {
            Box half = box;
            if (is_wide) {
                const float middle = std::round((box.left + box.right) / 2);
                (i == 0 ? half.right : half.left) = i == 0 ? middle - gap / 2 : middle + gap / 2;
            } else {
                const float middle = std::round((box.top + box.bottom) / 2);
                (i == 0 ? half.bottom : half.top) = middle;
            }
            draw_half(frame, half, i, longest);
        }
    }

    void draw_half(Frame& frame, const Box& box, std::size_t which, Bytes longest) {
        const float title = draw_title(frame, box, which);
        AddressMap& map = maps_[which];
        map.looks.has_head = false;
        map.looks.order = RowOrder::birth;
        map.looks.length = longest;
        map.looks.until = frame.selection.plays ? frame.selection.cursor : std::nullopt;
        // Each map shows its own run; cursor and similar state are shared.
        const std::size_t shown = std::exchange(frame.selection.run, order_[which]);
        const auto block = frame.selection.block;
        if (shown != order_[which])
            frame.selection.block.reset();
        Frame half{frame.session, frame.camera, frame.selection,
                   frame.search,  frame.canvas, {box.left, box.top + title, box.right, box.bottom},
                   frame.still};
        ImGui::PushID(static_cast<int>(which));
        map.draw(half);
        ImGui::PopID();
        if (shown == order_[which])
            frame.selection.run = shown;
        else if (frame.selection.block)
            frame.selection.run = order_[which];  // one of its blocks was clicked
        else
            std::tie(frame.selection.run, frame.selection.block) = std::pair(shown, block);
    }

    std::string name_of(const Frame& frame, std::size_t which) const {
        return fmt::format("{}: {}", which == 0 ? "A" : "B",
                           frame.session.runs[order_[which]].label);
    }

    // "A: torch   8.30 GiB reserved at the peak"; of B the gap as well. Returns its height.
    float draw_title(Frame& frame, const Box& box, std::size_t which) const {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        const Box across = plot_box(canvas, box);
        const std::size_t run = order_[which];
        const Bytes reserved = reserved_of(frame, run);
        const float size = canvas.px(10);
        const float line = std::ceil(canvas.line_height() * 1.5F);
        const float middle = box.top + line / 2;
        canvas.fill({across.left, middle - size / 2, across.left + size, middle + size / 2},
                    run_colour(theme, run, order_.front()));
        const std::string name = name_of(frame, which);
        const Box first{across.left + size + canvas.px(6), box.top, across.right, box.top + line};
        canvas.text_within(first, name, theme.text);
        maps_[which].draw_legend(
            canvas, {first.left + canvas.text_width(name) + canvas.px(18),
                     std::floor(middle - canvas.line_height() / 2), first.right, first.bottom});
        ImGui::PushFont(current_fonts().heading);
        const float large = std::ceil(canvas.line_height() * 1.4F);
        const float top = box.top + line;
        float x = across.left;
        x += canvas.text({x, top}, format_bytes(reserved), theme.text) + canvas.px(8);
        ImGui::PopFont();
        const float small = top + (large - canvas.line_height()) / 2 - canvas.px(1);
        x += canvas.text({x, small}, "reserved " + when_text(frame), theme.faint_text) +
             canvas.px(18);
        if (which == 1)
            draw_gap(frame, {x, top, across.right, top + large}, reserved);
        return line + large + canvas.px(2);
    }

    void draw_gap(Frame& frame, const Box& box, Bytes reserved) const {
        const Theme& theme = frame.canvas.theme();
        const Bytes before = reserved_of(frame, order_[0]);
        const auto gap = static_cast<std::int64_t>(reserved) - static_cast<std::int64_t>(before);
        const std::string bytes = signed_bytes(gap);
        std::string text = bytes;
        if (before > 0 && gap != 0)
            text += fmt::format(
                " ({})", format_change(static_cast<double>(gap) / static_cast<double>(before)));
        ImGui::PushFont(current_fonts().heading);
        const bool fits = frame.canvas.text_width(text) <= box.width();
        frame.canvas.text({box.left, box.top}, fits ? text : bytes,
                          gap > 0   ? theme.worse
                          : gap < 0 ? theme.better
                                    : theme.text);
        ImGui::PopFont();
    }

    // The meaning of the lines and of the gap between them. Returns its height.
    float draw_curve_legend(Frame& frame, const Box& box) const {
        const Theme& theme = frame.canvas.theme();
        std::vector<LegendEntry> entries;
        for (std::size_t i = 0; i < kPair; ++i)
            entries.push_back({.name = name_of(frame, i) + ", reserved",
                               .colour = run_colour(theme, order_[i], order_.front())});
        entries.push_back(
            {.name = "B needs less", .colour = gap_colour(theme, true), .look = CurveLook::gap});
        entries.push_back(
            {.name = "B needs more", .colour = gap_colour(theme, false), .look = CurveLook::gap});
        const TimelineLegend legend(frame.canvas, std::move(entries), box.width());
        legend.draw(frame, box);
        return legend.height();
    }

    static Colour gap_colour(const Theme& theme, bool is_less) {
        return mix(theme.plot, is_less ? theme.better : theme.worse, 0.45);
    }

    // What both have reserved, with the gap between them filled.
    void draw_curves(Frame& frame, const Box& box) {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        Box plot = plot_box(canvas, box);
        plot.top += draw_curve_legend(frame, plot);
        plot.bottom = std::floor(box.bottom - TimeArea::axis_height(canvas));
        const TimeArea area(frame, plot, "pair-curves");
        canvas.fill(plot, theme.plot);
        std::array<std::vector<LevelColumn>, kPair> levels;
        Bytes most = 1;
        for (std::size_t i = 0; i < kPair; ++i) {
            levels[i] = levels_of(frame, order_[i], columns_[i], area);
            // The whole run's: while playing, the scale stays.
            const History& history = *frame.session.runs[order_[i]].history;
            const EventIndex peak = history.peak_event(Series::reserved);
            most = std::max(most, history.values(peak)[Series::reserved]);
        }
        const ByteScale scale{plot, static_cast<Bytes>(static_cast<double>(most) * kPairHeadroom)};
        draw_byte_axis(canvas, scale);
        area.draw_grid();
        canvas.clip(plot);
        {
            BandPainter gap(canvas, plot.left);
            for (std::size_t i = 0; i < std::min(levels[0].size(), levels[1].size()); ++i) {
                const Bytes a = levels[0][i].max;
                const Bytes b = levels[1][i].max;
                gap.column(i, scale.y(std::max(a, b)), scale.y(std::min(a, b)),
                           gap_colour(theme, a > b));
            }
        }
        for (std::size_t i = 0; i < kPair; ++i)
            draw_level_line(canvas, scale, levels[i], run_colour(theme, order_[i], order_.front()),
                            std::round(canvas.px(2)));
        canvas.unclip();
        area.draw_cursors();
        area.draw_axis();
    }

    // Up to the run's end, and as far as it has been played.
    static std::vector<LevelColumn> levels_of(const Frame& frame, std::size_t run,
                                              TimelineColumns& from, const TimeArea& area) {
        const ViewedRun& viewed = frame.session.runs[run];
        const AxisUnit unit = frame.camera.unit();
        const Window& window = frame.camera.window();
        const auto columns = from.look(viewed.history, unit, window, area.columns());
        Position end = end_of_run(viewed, unit);
        if (frame.selection.plays && frame.selection.cursor)
            end = std::min(end, *frame.selection.cursor);
        std::vector<LevelColumn> levels;
        for (const SeriesColumn& column :
             columns.first(columns_before(end, window, columns.size())))
            levels.push_back({column.min[Series::reserved], column.max[Series::reserved],
                              column.last[Series::reserved]});
        return levels;
    }

    std::vector<std::size_t> order_;  // A and B, by run
    std::array<AddressMap, kPair> maps_;
    std::array<TimelineColumns, kPair> columns_;
};

}  // namespace

ViewInfo side_by_side_view() {
    return {
        .name = "side-by-side",
        .title = "Side by side",
        .summary = "The address maps of two runs on one clock, and their difference; Space plays.",
        .make = make_view<SideBySideView>,
        .fills = true,
        .shows_advice = true};
}

}  // namespace tidemark::viz
