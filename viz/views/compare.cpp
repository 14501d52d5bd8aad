// Compare: a verdict, the runs over one time axis at the same scale, the difference of two of them,
// where they diverge and differ most, and a table of figures and their changes.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/table.h"
#include "viz/draw/time_area.h"
#include "viz/model/navigation/compared_runs.h"
#include "viz/model/navigation/comparison.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/fragmentation_follower.h"
#include "viz/model/timeline/timeline_columns.h"
#include "viz/views/compare_differences.h"
#include "viz/views/compare_offers.h"
#include "viz/views/compare_plot.h"
#include "viz/views/compare_tiers.h"
#include "viz/views/hover_card.h"
#include "viz/views/overview_writer.h"
#include "viz/views/track.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr float kComparePad = 6;         // points
constexpr float kCompareLeastPlot = 54;  // points of height that a run needs
constexpr float kMostPlot = 420;         // and can use
constexpr float kStrip = 92;             // points of the strip of differences
constexpr float kTableFrom = 380;        // points of height from which on there is a table
constexpr double kTableShare = 0.36;
constexpr double kCompareHeadroom = 1.1;
constexpr float kPickWidth = 210;  // points

struct CompareBoxes {
    Box header;
    std::vector<Box> plots;
    Box strip;
    Box whole;  // plots and strip: what takes the mouse
    Box table;  // may be empty
};

class CompareView final : public View {
  public:
    void draw(Frame& frame) override {
        choose_runs(frame);
        if (chosen_.size() < 2 && tier_runs(frame.session) > 1)
            return draw_tier_comparison(frame, table_);
        if (chosen_.size() < 2)
            return draw_compare_offers(frame);
        const CompareBoxes boxes = boxes_of(frame);
        compared_ = chosen_;
        chosen_.resize(std::min(chosen_.size(), boxes.plots.size()));
        look(frame, boxes);
        differences_.look(frame, first().history, second().history, aligned(frame));

        TimeArea area(frame, boxes.whole, "compare");
        draw_header(frame, boxes.header);
        for (std::size_t i = 0; i < chosen_.size(); ++i)
            draw_run(frame, boxes.plots[i], i);
        draw_strip(frame, area, boxes.strip);
        differences_.mark_first(frame, area, boxes.whole, *first().history);
        area.draw_cursors();
        area.draw_axis();
        draw_figures(frame, boxes.table);
        describe(frame, area);
    }

    bool busy() const override {
        return differences_.busy() ||
               std::any_of(fragmentation_.begin(), fragmentation_.end(),
                           [](const auto& each) { return each && each->busy(); });
    }

  private:
    struct Chosen {
        std::size_t run = 0;  // of the session
        std::shared_ptr<const History> history;
        std::string label;
        std::span<const SeriesColumn> columns;
        std::span<const HeldColumn> held;
        std::size_t until = 0;  // columns after these are past its end
    };

    // A and B, which the strip subtracts, and the best one come first, so that a low window leaves
    // out the others.
    void choose_runs(const Frame& frame) {
        chosen_.clear();
        order_ = comparison_order(frame.session, frame.selection);
        for (const std::size_t i : order_) {
            const ViewedRun& run = frame.session.runs[i];
            chosen_.push_back({i, run.history, run.label, {}, {}, 0});
        }
        if (!order_.empty())
            best_ = best_run(frame.session, order_);
    }

    CompareBoxes boxes_of(Frame& frame) const {
        const Canvas& canvas = frame.canvas;
        const float pad = std::round(canvas.px(kComparePad));
        const Box across = plot_box(canvas, frame.area);
        CompareBoxes boxes;
        const Writer writer{frame.canvas, across};
        const float line = std::round(ImGui::GetFrameHeight() + canvas.px(4));
        const float verdict =
            writer.heading_height(comparison_verdict(frame.session, order_)) + line;
        boxes.header = {across.left, frame.area.top + pad, across.right,
                        frame.area.top + pad + verdict};
        float bottom = frame.area.bottom;
        if (frame.area.height() >= canvas.px(kTableFrom)) {
            const float rows = 1.5F + static_cast<float>(chosen_.size());
            const float height = std::min(rows * canvas.line_height() * 1.4F,
                                          frame.area.height() * static_cast<float>(kTableShare));
            boxes.table = {frame.area.left, std::round(bottom - height), frame.area.right, bottom};
            bottom = boxes.table.top - pad;
        }
        bottom -= TimeArea::axis_height(canvas);
        const float strip = std::min(canvas.px(kStrip), (bottom - boxes.header.bottom) / 3);
        const float top = boxes.header.bottom + pad;
        const float room = bottom - strip - pad - top;
        const bool best_is_third = best_ != chosen_[0].run && best_ != chosen_[1].run;
        const auto fits = static_cast<std::size_t>(std::max(
            std::floor(room / (canvas.px(kCompareLeastPlot) + pad)), best_is_third ? 3.0F : 2.0F));
        const std::size_t plots = std::min(chosen_.size(), fits);
        const float height = std::min(room / static_cast<float>(plots), canvas.px(kMostPlot) + pad);
        for (std::size_t i = 0; i < plots; ++i) {
            const float at = std::round(top + height * static_cast<float>(i));
            boxes.plots.push_back({across.left, at, across.right, std::round(at + height) - pad});
        }
        const float strip_top = boxes.plots.back().bottom + pad;
        boxes.strip = {across.left, strip_top, across.right, std::round(strip_top + strip)};
        boxes.whole = {across.left, top, across.right, boxes.strip.bottom};
        return boxes;
    }

    void look(const Frame& frame, const CompareBoxes& boxes) {
        const auto columns =
            static_cast<std::size_t>(std::max(std::floor(boxes.whole.width()), 1.0F));
        columns_.resize(std::max(columns_.size(), frame.session.runs.size()));
        fragmentation_.resize(columns_.size());
        top_ = 1;
        for (Chosen& each : chosen_) {
            if (!columns_[each.run])
                columns_[each.run] = std::make_unique<TimelineColumns>();
            const AxisUnit unit = frame.camera.unit();
            const Window& window = frame.camera.window();
            each.columns = columns_[each.run]->look(each.history, unit, window, columns);
            each.until =
                columns_before(end_of_run(frame.session.runs[each.run], unit), window, columns);
            if (!fragmentation_[each.run])
                fragmentation_[each.run] = std::make_unique<FragmentationFollower>();
            fragmentation_[each.run]->look(each.history, frame.still);
            each.held =
                fragmentation_[each.run]->columns(each.columns, columns_[each.run]->requests());
            // The same scale at every zoom, so that heights stay comparable.
            const Series series = Series::reserved;
            const EventIndex peak = each.history->peak_event(series);
            top_ = std::max(top_, each.history->values(peak)[series]);
        }
        top_ = static_cast<Bytes>(kCompareHeadroom * static_cast<double>(top_));
        difference_.resize(columns);
        subtract(first().columns, second().columns, Series::reserved, difference_);
        mark_common(frame);
    }

    // After the end of the shorter one there is nothing to subtract.
    void mark_common(const Frame& frame) {
        const AxisUnit unit = frame.camera.unit();
        const Position end = std::min(first().history->end(unit), second().history->end(unit));
        const Window& window = frame.camera.window();
        for (std::size_t i = 0; i < difference_.size(); ++i)
            difference_[i].both =
                column_edge(window.begin, window.end, i, difference_.size()) < end;
    }

    const Chosen& first() const { return chosen_[0]; }

    const Chosen& second() const { return chosen_[1]; }

    bool aligned(const Frame& frame) const {
        return alignment(frame.session.runs[first().run], frame.session.runs[second().run]) ==
               Alignment::events;
    }

    void draw_header(Frame& frame, const Box& box) {
        Writer writer{frame.canvas, box};
        writer.headline(comparison_verdict(frame.session, order_), frame.canvas.theme().text);
        const Box line{box.left, writer.box.top, box.right, box.bottom};
        float left = draw_pick(frame, line.left, line.top, 0);
        left = draw_pick(frame, left, line.top, 1);
        const float right = differences_.draw_buttons(frame, line, *first().history);
        std::string text = differences_.text();
        const std::size_t hidden = compared_.size() - chosen_.size();
        if (hidden > 0)
            text += fmt::format(" {} more {} only in the table.", hidden,
                                hidden == 1 ? "run is" : "runs are");
        const Canvas& canvas = frame.canvas;
        frame.canvas.text_within(
            {left + canvas.px(8), line.top + canvas.px(3), right - canvas.px(8), line.bottom}, text,
            canvas.theme().faint_text);
    }

    // A list from which A (`which` 0) or B is picked. Returns where it ends.
    float draw_pick(Frame& frame, float left, float top, std::size_t which) const {
        const Canvas& canvas = frame.canvas;
        const float width = std::min(canvas.px(kPickWidth), frame.area.width() / 5);
        ImGui::SetCursorScreenPos({left, top});
        ImGui::SetNextItemWidth(width);
        const Chosen& picked = chosen_[which];
        const std::string text = letter_of(which) + picked.label;
        if (ImGui::BeginCombo(which == 0 ? "##A" : "##B", text.c_str())) {
            for (const Chosen& each : compared_)
                if (ImGui::Selectable(each.label.c_str(), each.run == picked.run))
                    pick(frame, which, each.run);
            ImGui::EndCombo();
        }
        return left + width + canvas.px(6);
    }

    // If a run is picked for both A and B, the two change places.
    void pick(Frame& frame, std::size_t which, std::size_t run) const {
        Selection& selection = frame.selection;
        selection.compared_first = which == 0 ? run : chosen_[0].run;
        selection.compared_second = which == 1 ? run : chosen_[1].run;
        if (selection.compared_first == selection.compared_second)
            (which == 0 ? selection.compared_second : selection.compared_first) =
                chosen_[which].run;
    }

    void draw_run(Frame& frame, const Box& box, std::size_t index) const {
        Canvas& canvas = frame.canvas;
        const Chosen& run = chosen_[index];
        canvas.fill(box, canvas.theme().plot);
        const ByteScale scale{box, top_};
        draw_byte_axis(canvas, scale);
        canvas.clip(box);
        if (run.until < run.columns.size() && run.history->complete())
            draw_after_end(canvas, box, run.until);
        draw_series(canvas, scale, run.columns.first(run.until),
                    run.held.first(std::min(run.held.size(), run.until)), {true, true, true, true},
                    run_colour(canvas.theme(), run.run, frame.selection.run));
        canvas.unclip();
        canvas.outline(box, canvas.theme().border);
        const auto at = instant_of(frame.session.runs[run.run], frame.camera.unit(),
                                   frame.selection.looked_at());
        std::string text = letter_of(index).empty() ? run.label : letter_of(index) + run.label;
        const EventIndex peak = run.history->peak_event(Series::reserved);
        text += fmt::format(", peak {}", format_bytes(run.history->values(peak)[Series::reserved]));
        if (run.run == best_ && compared_.size() > 2)
            text += ", the lowest";
        if (run.until < run.columns.size() && run.history->complete())
            text += ", " + ended_text(*run.history, frame.camera.unit());
        if (at && frame.selection.looked_at() && !at->has_ended)
            text += fmt::format(", here {}",
                                format_bytes(run.history->values(at->event)[Series::reserved]));
        canvas.label({box.left + canvas.px(6), box.top + canvas.px(4)}, text, canvas.theme().text);
    }

    static std::string letter_of(std::size_t index) {
        return index < 2 ? fmt::format("{}: ", index == 0 ? "A" : "B") : std::string{};
    }

    void draw_strip(Frame& frame, const TimeArea& area, const Box& box) const {
        Canvas& canvas = frame.canvas;
        draw_differences(canvas, box, difference_);
        std::vector<Box> labels;
        put_label(canvas, {box.left + canvas.px(6), box.top + canvas.px(4)},
                  "A - B, reserved:  + A reserves more   - B reserves more", canvas.theme().text,
                  Align::left, labels);
        differences_.label_largest(frame, area, box, labels);
    }

    // A line for each run, also for those that have no plot.
    void draw_figures(Frame& frame, const Box& box) {
        if (box.height() <= 0)
            return;
        std::vector<const ViewedRun*> runs;
        for (const Chosen& each : compared_)
            runs.push_back(&frame.session.runs[each.run]);
        const std::vector<ComparedFigure> figures = compare_figures(runs);
        std::vector<VirtualColumn> columns;
        columns.push_back({.title = "run"});
        for (const ComparedFigure& figure : figures)
            columns.push_back({.title = figure.name, .droppable = true});
        TableContent content;
        content.columns = columns;
        content.rows = runs.size();
        content.text = [this, &figures](std::uint64_t row, std::size_t column) {
            return column == 0 ? letter_of(row) + compared_[row].label
                               : cell_text(figures[column - 1].cells[row]);
        };
        table_.draw(frame, box, "figures", content);
    }

    static std::string cell_text(const ComparedCell& cell) {
        if (cell.judgement == Judgement::none || cell.judgement == Judgement::same)
            return cell.text;
        return cell.text + ", " + cell.change;
    }

    // What is under the mouse, of all runs.
    void describe(Frame& frame, const TimeArea& area) const {
        if (frame.still || !area.hovered())
            return;
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        const Position position = area.to_position(mouse.x);
        HoverCard card;
        card.head(position_label(frame, area, position));
        const Theme& theme = frame.canvas.theme();
        for (const Chosen& each : chosen_) {
            const AxisUnit unit = frame.camera.unit();
            const auto event = event_at(*each.history, unit, position);
            const Colour colour = run_colour(theme, each.run, frame.selection.run);
            if (position >= end_of_run(*each.history, unit)) {
                card.row(colour, each.label, "has ended");
                continue;
            }
            const SeriesValues values = event ? each.history->values(*event) : SeriesValues{};
            card.row(
                colour, each.label,
                fmt::format("{} reserved, {} allocated", format_bytes(values[Series::reserved]),
                            format_bytes(values[Series::allocated])));
        }
        const auto column = static_cast<std::size_t>(
            std::max(std::floor(area.to_x(position) - area.box().left), 0.0F));
        if (column < difference_.size() && difference_[column].both)
            card.row(0, "A - B, reserved", signed_bytes(difference_[column].last));
        card.draw(frame.canvas, mouse);
        frame.selection.described = card.text();
    }

    std::vector<Chosen> chosen_;                                         // those with a plot
    std::vector<Chosen> compared_;                                       // all
    std::vector<std::unique_ptr<TimelineColumns>> columns_;              // by run
    std::vector<std::unique_ptr<FragmentationFollower>> fragmentation_;  // by run
    std::vector<DifferenceColumn> difference_;
    Bytes top_ = 1;
    std::vector<std::size_t> order_;  // of all, by run
    std::size_t best_ = 0;
    CompareDifferences differences_;
    VirtualTable table_;
};

}  // namespace

ViewInfo compare_view() {
    return {.name = "compare",
            .title = "Compare",
            .summary = "several runs on one axis: a verdict, where they diverge, all figures",
            .make = make_view<CompareView>,
            .fills = true,
            .shows_advice = true};
}

}  // namespace tidemark::viz
