// Owners: who holds the allocated memory over time, as areas on top of each other whose sum is the
// allocated memory. A click on one filters all views by it, another click shows all again.
#include "viz/model/blocks/owners.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "viz/draw/filter_bar.h"
#include "viz/draw/table.h"
#include "viz/draw/time_area.h"
#include "viz/model/blocks/owner_details.h"
#include "viz/model/blocks/owner_follower.h"
#include "viz/model/blocks/site_index.h"
#include "viz/model/session/async_query.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/timeline_columns.h"
#include "viz/views/hit_ticks.h"
#include "viz/views/hover_card.h"
#include "viz/views/inspection.h"
#include "viz/views/map_paint.h"
#include "viz/views/owner_areas.h"
#include "viz/views/owner_chooser.h"
#include "viz/views/owner_legend.h"
#include "viz/views/timeline_legend.h"
#include "viz/views/track.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr double kOwnersHeadroom = 1.08;  // above what is highest
constexpr float kOwnersPad = 6;           // points
constexpr float kOwnersHits = 4;          // points
constexpr std::size_t kCardFrames = 7;    // of a stack

class OwnersView final : public View {
  public:
    void draw(Frame& frame) override {
        if (follow_shown(frame, history_, names_) == Shown::nothing)
            return draw_no_history(frame);
        const Box below = draw_choices(frame);
        if (!look(frame))
            return draw_notice(frame.canvas, below, nothing_yet());
        legend_.follow(frame.canvas.theme(), series_);
        draw_plot(frame, below);
    }

    bool busy() const override { return owners_.busy() || details_.running(); }

  private:
    Box draw_choices(Frame& frame) {
        frame.canvas.fill(frame.area, frame.canvas.theme().panel);
        const OwnerChooser chooser = choose_owners(frame, *history_, "held by", frame.area.left);
        trait_ = chooser.trait;
        return draw_filter_bar(frame, frame.area, chooser.right, *history_, "");
    }

    std::string nothing_yet() const {
        if (owners_.failed())
            return "The disk is too full to add up who holds the memory.";
        return history_->counts().events == 0 ? "No events yet."
                                              : "Adding up who holds the memory\u2026";
    }

    bool look(Frame& frame) {
        series_ = owners_.look(history_, trait_, frame.selection.filter, frame.still);
        if (!series_)
            return false;
        const Box across = plot_box(frame.canvas, frame.area);
        const auto columns = static_cast<std::size_t>(std::max(std::floor(across.width()), 1.0F));
        const AxisUnit unit = frame.camera.unit();
        columns_ = run_.look(history_, unit, frame.camera.window(), columns);
        owners_.columns(columns_, run_.requests());
        until_ = columns_before(end_of_run(frame.run(), unit), frame.camera.window(), columns);
        return true;
    }

    void toggle(Frame& frame, std::size_t owner) {
        if (owner == series_->owners())
            shows_reserved_ = !shows_reserved_;
        else
            legend_.toggle(frame.selection.filter, owner);
    }

    void draw_plot(Frame& frame, const Box& box) {
        Canvas& canvas = frame.canvas;
        const float pad = std::round(canvas.px(kOwnersPad));
        const Box across = plot_box(canvas, box);
        const TimelineLegend legend_line = legend_.fitting(frame, across, shows_reserved_);
        const Box head{across.left, box.top + pad / 2, across.right,
                       box.top + pad / 2 + legend_line.height()};
        const Box plot{across.left, std::round(head.bottom + pad), across.right,
                       std::floor(box.bottom - TimeArea::axis_height(canvas))};
        if (plot.height() < canvas.px(20))
            return;
        TimeArea area(frame, plot, "owners");
        if (const auto clicked = legend_line.draw(frame, head))
            toggle(frame, *clicked);
        const OwnerAreas areas(
            owners_.bytes().first(std::min(until_ * series_->owners(), owners_.bytes().size())),
            series_->owners());
        const ByteScale scale{plot, top_of(areas)};
        canvas.fill(plot, canvas.theme().plot);
        draw_byte_axis(canvas, scale);
        area.draw_grid();
        canvas.clip(plot);
        draw_areas(frame, areas, scale);
        canvas.unclip();
        area.draw_cursors();
        area.draw_axis();
        hits_.draw(
            frame,
            {plot.left, plot.bottom + 1, plot.right, plot.bottom + 1 + canvas.px(kOwnersHits)},
            frame.camera.window());
        take_mouse(frame, area, areas, scale);
    }

    Bytes top_of(const OwnerAreas& areas) const {
        const Bytes reserved =
            shows_reserved_ ? viz::highest(columns_.first(until_), Series::reserved) : 0;
        const Bytes most = std::max({reserved, areas.highest(), Bytes{1024}});
        return static_cast<Bytes>(static_cast<double>(most) * kOwnersHeadroom);
    }

    void draw_areas(Frame& frame, const OwnerAreas& areas, const ByteScale& scale) {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        const auto colour = [&](std::size_t owner) { return legend_.colour(owner); };
        areas.draw(canvas, scale, colour);
        areas.draw_names(
            canvas, scale, [this](std::size_t owner) { return legend_.name(owner); }, colour);
        if (shows_reserved_) {
            std::vector<LevelColumn> line;
            for (const SeriesColumn& column : columns_.first(until_))
                line.push_back({column.min[Series::reserved], column.max[Series::reserved],
                                column.last[Series::reserved]});
            draw_level_line(canvas, scale, line, theme.reserved, std::round(canvas.px(2)));
        }
        if (until_ < columns_.size() && history_->complete()) {
            std::vector<Box> labels;
            draw_after_end(canvas, scale.box, until_);
            label_end(canvas, scale.box, until_, ended_text(*history_, frame.camera.unit()),
                      labels);
        }
    }

    void take_mouse(Frame& frame, const TimeArea& area, const OwnerAreas& areas,
                    const ByteScale& scale) {
        if (frame.still || !area.hovered())
            return;
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        const std::optional<std::size_t> owner = areas.at(scale, mouse);
        HoverCard card;
        const Position position = area.to_position(mouse.x);
        const std::string when = position_label(frame, area, position);
        card.head(owner ? fmt::format("{}, at {}", legend_.name(*owner), when) : when);
        const auto event = event_at(*history_, frame.camera.unit(), position);
        if (!event || *event >= series_->events())
            card.note("no events here");
        else if (owner)
            describe(frame, *owner, *event, card);
        else
            card.row(frame.canvas.theme().allocated, "allocated",
                     format_bytes(history_->values(*event)[Series::allocated]));
        card.draw(frame.canvas, mouse);
        frame.selection.described = card.text();
        if (owner)
            frame.selection.detail = card.text();
        if (owner && area.clicked())
            toggle(frame, *owner);
    }

    void describe(Frame& frame, std::size_t owner, EventIndex event, HoverCard& card) {
        std::vector<Bytes> bytes(series_->owners());
        series_->at(event, bytes);
        const Bytes allocated = history_->values(event)[Series::allocated];
        card.row(legend_.colour(owner), "holds", format_bytes(bytes[owner]));
        card.row(0, fmt::format("of {} allocated", format_bytes(allocated)),
                 format_share(bytes[owner], allocated));
        details_.ask(history_, OwnerQuestion{series_, event, owner}, event, owner_details);
        const OwnerDetails* const details = details_.answer();
        const bool known =
            details != nullptr && details->question == OwnerQuestion{series_, event, owner};
        card.row(0, "in", known ? format_counted(details->blocks, "block") : "\u2026");
        if (known && details->stack != 0) {
            card.note(fmt::format("{} of it from", format_bytes(details->of_stack)));
            const std::vector<std::string> frames = names_->frames(details->stack);
            for (std::size_t i = 0; i < std::min(frames.size(), kCardFrames); ++i)
                card.note("  " + frames[i]);
            if (frames.size() > kCardFrames)
                card.note(fmt::format("  and {} more frames", frames.size() - kCardFrames));
        }
        if (owner < series_->not_shown() && !series_->classes().all()[owner].rest)
            card.note(legend_.is_meant(frame.selection.filter, owner)
                          ? "a click shows all owners again"
                          : "a click shows only these blocks");
    }

    std::shared_ptr<const History> history_;
    std::unique_ptr<SiteNames> names_;
    BlockTrait trait_ = BlockTrait::tag;
    OwnerFollower owners_;
    std::shared_ptr<const OwnerSeries> series_;
    TimelineColumns run_;
    std::span<const SeriesColumn> columns_;
    std::size_t until_ = 0;  // columns behind these are after the run's end
    OwnerLegend legend_;
    bool shows_reserved_ = true;
    AsyncQuery<OwnerQuestion, OwnerDetails> details_;
    HitTicks hits_;
};

}  // namespace

ViewInfo owners_view() {
    return {"owners", "Owners", "Who holds the memory over time: by tag, call site, module, pool.",
            Pane::main, make_view<OwnersView>};
}

}  // namespace tidemark::viz
