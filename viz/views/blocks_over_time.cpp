// Blocks over time: each large block as a band as high as it is large, from its allocation to its
// end, the oldest at the bottom and all of them stacked; blocks too small or too short for a band
// are summed by owner above them. The top edge is the allocated memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/filter_bar.h"
#include "viz/draw/table.h"
#include "viz/draw/time_area.h"
#include "viz/model/blocks/block_details.h"
#include "viz/model/blocks/owner_follower.h"
#include "viz/model/memory/band_follower.h"
#include "viz/model/memory/map_tiles.h"
#include "viz/model/session/async_query.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/timeline_columns.h"
#include "viz/views/band_stack.h"
#include "viz/views/hit_ticks.h"
#include "viz/views/hover_card.h"
#include "viz/views/inspection.h"
#include "viz/views/owner_chooser.h"
#include "viz/views/owner_legend.h"
#include "viz/views/track.h"
#include "viz/views/track_stack.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr double kBandsHeadroom = 1.04;   // above the highest point
constexpr float kBandsPad = 6;            // points
constexpr float kBandsHits = 4;           // points
constexpr double kBandsWheelStep = 1.25;  // as over the time axis
constexpr Bytes kLeastSeen = 4096;        // bytes in the plot's height, at least
constexpr std::string_view kFromBefore = "from before the recording";

class BlocksOverTime final : public View {
  public:
    void draw(Frame& frame) override {
        if (follow_shown(frame, history_, names_) == Shown::nothing)
            return draw_no_history(frame);
        const Box below = draw_choices(frame);
        series_ = owners_.look(history_, trait_, frame.selection.filter, frame.still);
        if (!series_)
            return draw_notice(frame.canvas, below, nothing_yet());
        legend_.follow(frame.canvas.theme(), series_);
        draw_plot(frame, below);
    }

    bool busy() const override {
        return owners_.busy() || bands_.busy() || rest_.running() || tracks_.busy();
    }

  private:
    Box draw_choices(Frame& frame) {
        frame.canvas.fill(frame.area, frame.canvas.theme().panel);
        const OwnerChooser chooser =
            choose_owners(frame, *history_, "colours", frame.area.left,
                          shown_trait(*history_, frame.selection.colour_by));
        trait_ = chooser.trait;
        return draw_filter_bar(frame, frame.area, chooser.right, *history_, "");
    }

    std::string nothing_yet() const {
        if (owners_.failed())
            return "The disk is too full to add up who holds the memory.";
        return history_->counts().events == 0 ? "No events yet." : "Stacking blocks\u2026";
    }

    void draw_plot(Frame& frame, const Box& box) {
        Canvas& canvas = frame.canvas;
        const float pad = std::round(canvas.px(kBandsPad));
        const Box across = plot_box(canvas, box);
        const TimelineLegend legend = legend_.fitting(frame, across, shows_reserved_);
        const Box head{across.left, box.top + pad / 2, across.right,
                       box.top + pad / 2 + legend.height()};
        const TrackInput input{frame.run(), nullptr};
        const Box whole{std::round(across.left), std::round(head.bottom + pad),
                        std::floor(across.right),
                        std::floor(box.bottom - TimeArea::axis_height(canvas))};
        Box plot = whole;
        plot.bottom -= tracks_.prepare(frame, input, whole.height());
        if (plot.height() < canvas.px(20))
            return;
        take_wheel(frame, plot);
        TimeArea area(frame, whole, "blocks-over-time");
        drag_bytes(frame, plot);
        if (const auto clicked = legend.draw(frame, head))
            toggle(frame, *clicked);
        look(frame, plot);
        canvas.fill(plot, canvas.theme().plot);
        draw_byte_axis(canvas, scene_.scale);
        area.draw_grid();
        canvas.clip(plot);
        draw_bands(frame);
        canvas.unclip();
        HoverCard card;
        const std::optional<ImVec2> mouse =
            frame.still || !area.hovered() ? std::nullopt : std::optional(ImGui::GetIO().MousePos);
        tracks_.draw(frame, input, area, {plot.left, plot.bottom, plot.right, whole.bottom}, mouse,
                     card);
        area.draw_cursors();
        canvas.clip(plot);
        draw_names(canvas);
        canvas.unclip();
        area.draw_axis();
        const float axis = whole.bottom + 1;
        hits_.draw(frame, {plot.left, axis, plot.right, axis + canvas.px(kBandsHits)},
                   frame.camera.window());
        if (mouse && plot.contains(*mouse))
            take_mouse(frame, area, *mouse, card);
        const std::optional<BlockIndex>& hot = frame.selection.hot_block;
        if (hot && hot != frame.selection.block) {
            canvas.clip(plot);
            stack_.outline(canvas, std::array{*hot}, canvas.theme().text);
            canvas.unclip();
        }
        if (!mouse || frame.selection.grabbed || card.empty())
            return;
        card.draw(canvas, *mouse);
        frame.selection.described = card.text();
        if (!frame.selection.hot_block)
            frame.selection.detail = card.text();
    }

    void toggle(Frame& frame, std::size_t owner) {
        if (owner == series_->owners())
            shows_reserved_ = !shows_reserved_;
        else
            legend_.toggle(frame.selection.filter, owner);
    }

    // As in the address map: over the labels the wheel zooms the bytes, and with Ctrl over the plot
    // as well.
    void take_wheel(Frame& frame, const Box& plot) {
        if (frame.still)
            return;
        ImGuiIO& io = ImGui::GetIO();
        const Box margin{frame.area.left, plot.top, plot.left, plot.bottom};
        const bool over_plot = io.KeyCtrl && plot.contains(io.MousePos);
        if (io.MouseWheel == 0 || !(margin.contains(io.MousePos) || over_plot) ||
            !ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem))
            return;
        const double share =
            static_cast<double>((plot.bottom - io.MousePos.y) / std::max(plot.height(), 1.0F));
        zoom_bytes(std::pow(kBandsWheelStep, -static_cast<double>(io.MouseWheel)), share);
        io.MouseWheel = 0;  // or the time axis would take it too
    }

    // The point at `share` of the height above the ground stays there.
    void zoom_bytes(double factor, double share) {
        const SeenBytes now = seen_.value_or(SeenBytes{0, top_});
        const auto length = static_cast<double>(now.top - now.low);
        const double longer = std::max(length * factor, static_cast<double>(kLeastSeen));
        const double low = std::max(static_cast<double>(now.low) + share * (length - longer), 0.0);
        seen_ = {static_cast<Bytes>(low), static_cast<Bytes>(low + longer)};
        if (seen_->low == 0 && seen_->top >= top_)
            seen_.reset();
    }

    void drag_bytes(Frame& frame, const Box& plot) {
        if (frame.still || !seen_ || !frame.selection.grabbed || !ImGui::IsItemActive())
            return;
        const ImGuiIO& io = ImGui::GetIO();
        const Bytes length = seen_->top - seen_->low;
        const double by = static_cast<double>(io.MouseDelta.y / std::max(plot.height(), 1.0F)) *
                          static_cast<double>(length);
        const double most = static_cast<double>(top_ - std::min(length, top_));
        if (!io.KeyShift)
            seen_->low =
                static_cast<Bytes>(std::clamp(static_cast<double>(seen_->low) + by, 0.0, most));
        seen_->top = seen_->low + length;
    }

    // What is in view, as far as it is known.
    void look(Frame& frame, const Box& plot) {
        const AxisUnit unit = frame.camera.unit();
        const Window& window = frame.camera.window();
        const auto columns = static_cast<std::size_t>(std::max(plot.width(), 1.0F));
        columns_ = run_.look(history_, unit, window, columns);
        const std::size_t until = columns_before(end_of_run(frame.run(), unit), window, columns);
        const Bytes highest =
            std::max({viz::highest(columns_.first(until), Series::allocated),
                      shows_reserved_ ? viz::highest(columns_.first(until), Series::reserved) : 0,
                      Bytes{1024}});
        top_ = static_cast<Bytes>(static_cast<double>(highest) * kBandsHeadroom);
        const ByteScale scale{plot, seen_ ? seen_->top : top_, seen_ ? seen_->low : 0};
        const auto pixels = static_cast<Bytes>(std::max(plot.height(), 1.0F));
        bands_.look(series_,
                    {unit, window, static_cast<std::uint32_t>(columns),
                     std::max<Bytes>((scale.top - scale.low) / pixels, 1), frame.run().preamble});
        if (frame.still)
            bands_.finish();
        // Letters are lower than their line.
        const float line = frame.canvas.line_height() - std::round(frame.canvas.px(3));
        const BandScene scene{bands_.shown(), bands_.wide(), window, scale, until, line};
        const Theme& theme = frame.canvas.theme();
        if (scene == scene_ && painted_ == bands_.revision() && theme_ == &theme)
            return;
        scene_ = scene;
        painted_ = bands_.revision();
        theme_ = &theme;
        stack_.paint(theme, paint_of(theme), scene_);
    }

    // For the owners that the answer knows, until it is for those that are chosen.
    const MapPaint& paint_of(const Theme& theme) {
        shown_legend_.follow(theme, scene_.shown ? scene_.shown->series : series_);
        return shown_legend_.paint();
    }

    void draw_bands(Frame& frame) {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        stack_.draw(canvas);
        if (shows_reserved_) {
            std::vector<LevelColumn> line;
            for (const SeriesColumn& column : columns_.first(scene_.until))
                line.push_back({column.min[Series::reserved], column.max[Series::reserved],
                                column.last[Series::reserved]});
            draw_level_line(canvas, scene_.scale, line, theme.reserved, std::round(canvas.px(2)));
        }
        stack_.outline(canvas, frame.selection.used, theme.selection);
        if (frame.selection.block)
            stack_.outline(canvas, std::array{*frame.selection.block}, theme.selection);
        if (!scene_.shown)
            draw_notice(canvas, scene_.scale.box, "Stacking blocks\u2026");
        if (scene_.until < columns_.size() && history_->complete()) {
            std::vector<Box> labels;
            draw_after_end(canvas, scene_.scale.box, scene_.until);
            label_end(canvas, scene_.scale.box, scene_.until,
                      ended_text(*history_, frame.camera.unit()), labels);
        }
    }

    void draw_names(Canvas& canvas) {
        stack_.draw_names(
            canvas, [this](const BandSlice& slice) { return name_of(slice); },
            [this](const BandSlice& slice) {
                return slice.kind == BandSlice::Kind::band
                           ? format_bytes(scene_.shown->bands[slice.index].size)
                           : std::string();
            });
    }

    bool is_from_before(const BlockBands& bands, BlockIndex block) const {
        return block < history_->born_before(bands.look.preamble);
    }

    // For a band its frame, if that was recorded.
    std::string name_of(const BandSlice& slice) {
        switch (slice.kind) {
            case BandSlice::Kind::before:
                return std::string(kFromBefore);
            case BandSlice::Kind::rest:
                return fmt::format("{}, together", shown_legend_.name(slice.index));
            case BandSlice::Kind::band:
                break;
        }
        const BlockIndex block = scene_.shown->bands[slice.index].block;
        const Site& site = history_->site(history_->block(block).site);
        std::string name = brief_call_site(names_->call_site(site.stack));
        if (name.empty())
            name = names_->tag(site);
        if (is_from_before(*scene_.shown, block))
            name += name.empty() ? std::string(kFromBefore) : fmt::format(", {}", kFromBefore);
        return name;
    }

    void take_mouse(Frame& frame, const TimeArea& area, ImVec2 mouse, HoverCard& card) {
        const std::optional<BandStack::Hit> hit = stack_.at(mouse);
        std::optional<BlockIndex> block;
        if (hit && hit->slice.kind == BandSlice::Kind::band)
            block = hit->bands->bands[hit->slice.index].block;
        frame.selection.hot_block = block;
        if (area.clicked())
            frame.selection.block = block;
        if (area.double_clicked() && block) {
            show_life(frame, *history_, *block);
            frame.selection.grabbed = area.to_position(mouse.x);
        }
        if (block)
            describe_block(*hit->bands, *block, card);
        else if (hit)
            describe_rest(*hit, card);
        else
            describe_above(frame, area, mouse, card);
    }

    // The stack first: who requested it, and who called that.
    void describe_block(const BlockBands& bands, BlockIndex index, HoverCard& card) {
        const Block block = history_->block(index);
        const Site& site = history_->site(block.site);
        const bool before = is_from_before(bands, index);
        std::string head = names_->name(site);
        if (before && site.stack == 0)
            head = names_->tag(site).empty()
                       ? std::string(kFromBefore)
                       : fmt::format("{}, {}", names_->tag(site), kFromBefore);
        card.head(std::move(head));
        card.stack(names_->frames(site.stack));
        const auto band = static_cast<std::uint32_t>(bands.band_of(index) - bands.bands.data());
        add_life(card, *history_, block,
                 stack_.colour_of(bands, {BandSlice::Kind::band, band, 0, 0}));
        if (before)
            card.row(0, "allocated", "before the recording");
        else
            card.row(0, "allocated", moment_text(*history_, block.born));
        if (block.freed != kNever)
            card.row(0, "freed", moment_text(*history_, block.freed));
        card.row(0, "stream", names_->stream(site.stream));
    }

    // Blocks that have no band of their own here.
    void describe_rest(const BandStack::Hit& hit, HoverCard& card) {
        const bool before = hit.slice.kind == BandSlice::Kind::before;
        const EventIndex moment = hit.bands->moments[hit.column];
        const std::string whose =
            before ? std::string(kFromBefore) : shown_legend_.name(hit.slice.index);
        card.head(fmt::format("{}: too small or too short to be drawn alone, at {}", whose,
                              event_time_text(*history_, moment)));
        const RestQuestion question{hit.bands, hit.column, hit.slice};
        rest_.ask(history_, question, moment,
                  [](const History& history, const RestQuestion& of, const Cancelled& cancelled) {
                      return RestAnswer{of, rest_details(history, of, cancelled)};
                  });
        const RestAnswer* const answer = rest_.answer();
        const bool known = answer != nullptr && answer->question == question;
        const bool has_stack = known && answer->details.stack != 0;
        if (has_stack)
            card.stack(names_->frames(answer->details.stack));
        card.row(stack_.colour_of(*hit.bands, hit.slice), "together",
                 format_bytes(hit.slice.high - hit.slice.low));
        card.row(0, "in", known ? format_counted(answer->details.blocks, "block") : "\u2026");
        if (has_stack)
            card.row(0, "from this stack", format_bytes(answer->details.of_stack));
    }

    void describe_above(Frame& frame, const TimeArea& area, ImVec2 mouse, HoverCard& card) const {
        const Position position = area.to_position(mouse.x);
        card.head(position_label(frame, area, position));
        const auto event = event_at(*history_, frame.camera.unit(), position);
        if (!event)
            return card.note("no events here");
        const SeriesValues values = history_->values(*event);
        card.row(frame.canvas.theme().allocated, "allocated",
                 format_bytes(values[Series::allocated]));
        card.row(frame.canvas.theme().reserved, "reserved", format_bytes(values[Series::reserved]));
    }

    static std::vector<std::unique_ptr<Track>> one_track() {
        std::vector<std::unique_ptr<Track>> tracks;
        tracks.push_back(pool_track());
        return tracks;
    }

    // Of the stacked bytes.
    struct SeenBytes {
        Bytes low = 0;
        Bytes top = 1;
    };

    struct RestAnswer {
        RestQuestion question;
        OwnerDetails details;
    };

    std::shared_ptr<const History> history_;
    std::unique_ptr<SiteNames> names_;
    BlockTrait trait_ = BlockTrait::tag;
    OwnerFollower owners_;
    std::shared_ptr<const OwnerSeries> series_;
    OwnerLegend legend_;
    OwnerLegend shown_legend_;  // of the bands that are drawn
    TimelineColumns run_;
    std::span<const SeriesColumn> columns_;
    Bytes top_ = 1024;               // where everything is in view
    std::optional<SeenBytes> seen_;  // none: all of them
    BandFollower bands_;
    BandScene scene_;
    std::uint64_t painted_ = 0;
    const Theme* theme_ = nullptr;
    BandStack stack_;
    TrackStack tracks_{one_track()};
    bool shows_reserved_ = false;
    AsyncQuery<RestQuestion, RestAnswer> rest_;
    HitTicks hits_;
};

}  // namespace

ViewInfo blocks_over_time_view() {
    return {"blocks-over-time", "Blocks over time",
            "Large blocks as bands over their lifetimes, stacked; the rest by owner.", Pane::main,
            make_view<BlocksOverTime>};
}

}  // namespace tidemark::viz
