// The curves of a history: reserved, allocated, active and requested with the gaps between them
// shaded, the largest value, bounds; and what other runs reserved, as thin lines.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/fragmentation_follower.h"
#include "viz/views/curves.h"
#include "viz/views/event_card.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kMostOthers = 6;             // further runs are in the view that compares
constexpr std::size_t kFirstOther = kSeriesCount;  // legend entries behind those of the series
constexpr float kClose = 6;                        // points: a marker's reach
constexpr std::string_view kEnded = "ended";
constexpr auto kUnknownRounding = "-";  // something is pending free, and has a part of it

class HistoryCurves final : public Curves {
  public:
    bool look(Frame& frame, const TrackInput& input, std::size_t columns) override {
        history_ = input.run.history;
        if (!history_ || history_->counts().events == 0)
            return false;
        const AxisUnit unit = frame.camera.unit();
        columns_ = shown_run_.look(history_, unit, frame.camera.window(), columns);
        curve_ = fragmentation_.look(history_, frame.still);
        held_ = fragmentation_.columns(columns_, shown_run_.requests());
        all_ = columns;
        const std::size_t until =
            columns_before(end_of_run(input.run, unit), frame.camera.window(), columns);
        columns_ = columns_.first(until);
        held_ = held_.first(std::min(held_.size(), until));
        look_at_others(frame, columns);
        return true;
    }

    bool busy() const override { return fragmentation_.busy(); }

    Bytes highest() const override {
        Bytes most = 0;
        for (std::size_t i = 0; i < kSeriesCount; ++i)
            if (shown_[i])
                most = std::max(most, viz::highest(columns_, static_cast<Series>(i)));
        for (const Other& other : others_)
            if (is_shown(other))
                most = std::max(most, viz::highest(other.columns, Series::reserved));
        return most;
    }

    Bytes capacity() const override { return history_->capacity(); }

    std::vector<LegendEntry> legend(Frame& frame) const override {
        const Theme& theme = frame.canvas.theme();
        const auto at = instant_of(frame.run(), frame.camera.unit(), frame.selection.looked_at());
        const SeriesValues values = at ? history_->values(at->event) : SeriesValues{};
        const auto text = [&](Bytes bytes) {
            return at && at->has_ended ? std::string(kEnded) : format_bytes(bytes);
        };
        std::vector<LegendEntry> entries;
        const auto curve = [&](Series series, CurveLook look) {
            const auto number = static_cast<std::size_t>(series);
            entries.push_back({std::string(to_text(series)), text(values[series]),
                               colour_of(theme, series), look, number, shown_[number]});
            if (look == CurveLook::area)
                entries.back().fill = theme.used;
        };
        const auto gap = [&](std::string name, Colour colour, Bytes bytes) {
            entries.push_back({std::move(name), text(bytes), colour, CurveLook::gap, {}, true});
        };
        curve(Series::reserved, CurveLook::line);
        curve(Series::allocated, CurveLook::area);
        curve(Series::requested, CurveLook::dots);
        curve(Series::active, CurveLook::line);
        const Bytes active = values[Series::active];
        const IdleMemory idle = idle_of(values, curve_.get(), at ? at->event : 0);
        gap("cached", theme.cached, idle.cached);
        gap("fragmentation", theme.fragmentation, idle.fragmentation.value_or(0));
        if (!idle.fragmentation && at && !at->has_ended)
            entries.back().value = unknown_fragmentation();
        if (history_->streams().size() > 1)
            gap("pending free", theme.active, active - std::min(active, values[Series::allocated]));
        const std::optional<Bytes> rounding = rounding_of(values);
        gap("rounding", theme.rounding, rounding.value_or(0));
        if (!rounding && at && !at->has_ended)
            entries.back().value = kUnknownRounding;
        add_others(frame, entries);
        return entries;
    }

    void toggle(std::size_t entry) override {
        if (entry < kFirstOther) {
            shown_[entry] = !shown_[entry];
            return;
        }
        const std::size_t run = entry - kFirstOther;
        hidden_runs_.resize(std::max(hidden_runs_.size(), run + 1));
        hidden_runs_[run] = !hidden_runs_[run];
    }

    void draw(Frame& frame, const TimeArea& area, const ByteScale& scale,
              std::vector<Box>& labels) override {
        Canvas& canvas = frame.canvas;
        const bool has_ended = columns_.size() < all_ && history_->complete();
        if (has_ended)
            draw_after_end(canvas, scale.box, columns_.size());
        draw_series(canvas, scale, columns_, held_, shown_, canvas.theme().reserved);
        for (const Other& other : others_)
            if (is_shown(other))
                draw_other(frame, scale, other);
        draw_bound(canvas, scale, history_->capacity(), "capacity", canvas.theme().problem, labels);
        if (history_->limit() != history_->capacity())
            draw_bound(canvas, scale, history_->limit(), "limit", canvas.theme().warning, labels);
        draw_peak(frame, area, scale, labels);
        if (has_ended)
            label_end(canvas, scale.box, columns_.size(),
                      ended_text(*history_, frame.camera.unit()), labels);
    }

    void describe(Frame& frame, const TimeArea& area, Position position, HoverCard& card) override {
        const AxisUnit unit = frame.camera.unit();
        card.head(position_label(frame, area, position));
        const auto event = event_at(*history_, unit, position);
        if (!event) {
            card.note("before the first event");
            return;
        }
        if (position >= end_of_run(*history_, unit))
            card.note(ended_text(*history_, unit) + "; at its end");
        describe_event(frame.canvas.theme(), *history_, curve_.get(), *event, card);
        const auto column = static_cast<std::size_t>(
            std::max(std::floor(area.to_x(position) - area.box().left), 0.0F));
        if (column >= columns_.size())
            return;
        if (columns_[column].events > 1)
            card.note(fmt::format("{} in this pixel; values after the last",
                                  format_counted(columns_[column].events, "event")));
        const BlockIndex block = history_->block_at(*event);
        if (block != kNoBlock)
            frame.selection.hot_block = block;
    }

  private:
    struct Other {
        std::size_t run = 0;
        std::string label;
        std::shared_ptr<const History> history;
        std::span<const SeriesColumn> columns;
    };

    // Why there is no figure; the whole gap is drawn as cached then.
    std::string unknown_fragmentation() const {
        if (fragmentation_.failed())
            return "no disk space";
        return curve_ ? "\u2026" : fmt::format("{:.0f} % done", 100 * fragmentation_.share());
    }

    bool is_shown(const Other& other) const {
        return other.run >= hidden_runs_.size() || !hidden_runs_[other.run];
    }

    void look_at_others(Frame& frame, std::size_t columns) {
        others_.clear();
        const std::vector<ViewedRun>& runs = frame.session.runs;
        other_columns_.resize(runs.size());
        for (std::size_t run = 0; run < runs.size() && others_.size() < kMostOthers; ++run) {
            const std::shared_ptr<const History>& history = runs[run].history;
            if (run == frame.selection.run || !history || history->counts().events == 0)
                continue;
            if (!other_columns_[run])
                other_columns_[run] = std::make_unique<TimelineColumns>();
            const AxisUnit unit = frame.camera.unit();
            const Window& window = frame.camera.window();
            const auto all = other_columns_[run]->look(history, unit, window, columns);
            others_.push_back(
                {run, runs[run].label, history,
                 all.first(columns_before(end_of_run(runs[run], unit), window, columns))});
        }
    }

    void add_others(Frame& frame, std::vector<LegendEntry>& entries) const {
        for (const Other& other : others_) {
            const auto at = instant_of(frame.session.runs[other.run], frame.camera.unit(),
                                       frame.selection.looked_at());
            const Bytes reserved = at ? other.history->values(at->event)[Series::reserved] : 0;
            entries.push_back({"reserved: " + other.label,
                               at && at->has_ended ? std::string(kEnded) : format_bytes(reserved),
                               run_colour(frame.canvas.theme(), other.run, frame.selection.run),
                               CurveLook::line, kFirstOther + other.run, is_shown(other)});
        }
    }

    static void draw_other(Frame& frame, const ByteScale& scale, const Other& other) {
        Canvas& canvas = frame.canvas;
        std::vector<LevelColumn> line;
        line.reserve(other.columns.size());
        for (const SeriesColumn& column : other.columns)
            line.push_back({column.min[Series::reserved], column.max[Series::reserved],
                            column.last[Series::reserved]});
        draw_level_line(canvas, scale, line,
                        run_colour(canvas.theme(), other.run, frame.selection.run),
                        std::round(canvas.px(1.5F)));
    }

    // Where most is reserved, if that is in view.
    void draw_peak(Frame& frame, const TimeArea& area, const ByteScale& scale,
                   std::vector<Box>& labels) const {
        Canvas& canvas = frame.canvas;
        const EventIndex event = frame.run().peak.of(history_);
        const Position position = history_->position(frame.camera.unit(), event);
        const Window& window = frame.camera.window();
        if (position < window.begin || position >= window.end ||
            !shown_[static_cast<std::size_t>(Series::reserved)])
            return;
        const Bytes bytes = history_->values(event)[Series::reserved];
        const float x = std::floor(area.to_x(position)) + 0.5F;
        const float y = scale.y(bytes);
        const float reach = canvas.px(kClose);
        const Colour colour = canvas.theme().text;
        canvas.triangle({x - reach, y - 2 * reach}, {x + reach, y - 2 * reach}, {x, y - reach / 3},
                        colour);
        const std::string text = fmt::format("peak {}", format_bytes(bytes));
        const float width = canvas.text_width(text) + canvas.px(8);
        const bool to_left = x + 2 * reach + width > area.box().right;
        const float top = std::max(y - 2 * reach - canvas.px(4), scale.box.top + 2);
        put_label(canvas, {to_left ? x - 2 * reach : x + 2 * reach, top}, text, colour,
                  to_left ? Align::right : Align::left, labels);
    }

    std::shared_ptr<const History> history_;
    TimelineColumns shown_run_;
    std::span<const SeriesColumn> columns_;
    FragmentationFollower fragmentation_;
    std::shared_ptr<const FragmentationCurve> curve_;
    std::span<const HeldColumn> held_;
    std::size_t all_ = 0;  // columns of the plot; those after columns_ are past the run's end
    std::vector<std::unique_ptr<TimelineColumns>> other_columns_;  // by run
    std::vector<Other> others_;
    ShownSeries shown_ = {true, true, true, true};
    std::vector<bool> hidden_runs_;
};

}  // namespace

std::unique_ptr<Curves> history_curves() {
    return std::make_unique<HistoryCurves>();
}

}  // namespace tidemark::viz
