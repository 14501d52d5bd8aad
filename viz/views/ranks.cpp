// Ranks: a sentence about who needs most, a table with a bar for each rank, and below it the curves
// of those at the table's top over one time axis: their tracks follow the table.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/table.h"
#include "viz/draw/time_area.h"
#include "viz/model/ranks/divergence_text.h"
#include "viz/model/ranks/rank_divergence.h"
#include "viz/model/ranks/rank_table.h"
#include "viz/model/session/job.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/timeline_columns.h"
#include "viz/views/compare_plot.h"
#include "viz/views/overview_writer.h"
#include "viz/views/rank_track.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr float kRanksPad = 8;              // points
constexpr float kLeastRankTrack = 46;       // points of height
constexpr std::size_t kMostRankTracks = 8;  // drawn at once
constexpr float kRanksTable = 0.42F;        // of the height, at most
constexpr double kRanksHeadroom = 1.12;

enum RankColumn : std::size_t {
    kNumber,
    kBar,
    kReserved,
    kToMedian,
    kPeakAt,
    kRefused,
    kLeaves,
    kDiffers,
    kFile,
    kRankColumns
};

class RanksView final : public View {
  public:
    void draw(Frame& frame) override {
        if (!table_.look(frame.session, frame.selection))
            return draw_notice(frame.canvas, frame.area, kNone);
        diverge(frame);
        sort(frame);
        Canvas& canvas = frame.canvas;
        const float pad = canvas.px(kRanksPad);
        Writer page{canvas, frame.area.inset(pad)};
        page.headline(table_.headline(), canvas.theme().text);
        page.paragraph(divergence_, canvas.theme().faint_text);
        page.skip(4);
        Box rest{frame.area.left, std::round(page.box.top), frame.area.right, frame.area.bottom};
        const float wanted = VirtualTable::height(canvas, order_.size());
        Box list = rest;
        list.bottom = std::round(rest.top + std::min(wanted, frame.area.height() * kRanksTable));
        rest.top = list.bottom + pad / 2;
        draw_table(frame, list);
        rest.top += draw_rank_legend(canvas, plot_box(canvas, rest));
        draw_tracks(frame, rest);
    }

    bool busy() const override { return job_.running(); }

  private:
    static constexpr std::string_view kNone =
        "These are not ranks of one program. Names of ranks' files differ only in numbers\n"
        "(run/rank0/snapshot.pickle, run/rank1/snapshot.pickle; rank_0.tmk, rank_1.tmk).";

    const RankFigures& row_of(std::uint64_t at) const { return table_.rows()[order_[at]]; }

    // --- divergence ------------------------------------------------------------------------------

    // Started once all ranks are there, and again when one has changed.
    void diverge(const Frame& frame) {
        std::vector<RankHistory> ranks;
        std::vector<std::size_t> rows;
        for (std::size_t i = 0; i < table_.rows().size(); ++i) {
            const ViewedRun& run = frame.session.runs[table_.rows()[i].run];
            const bool is_coming = run.state.phase == LoadState::Phase::waiting ||
                                   run.state.phase == LoadState::Phase::loading;
            if (is_coming)
                return;
            if (!table_.rows()[i].is_known)
                continue;
            ranks.push_back({run.history, run.preamble});
            rows.push_back(i);
        }
        if (ranks.size() < 2)
            return;
        const bool is_same =
            std::ranges::equal(ranks, compared_, {}, &RankHistory::history, &RankHistory::history);
        if (!is_same)
            start(std::move(ranks), std::move(rows));
        auto found = frame.still ? job_.wait() : job_.take();
        if (!found)
            return;
        found_ = std::move(*found);
        std::vector<RankFigures> figures;
        for (const std::size_t row : compared_rows_)
            figures.push_back(table_.rows()[row]);
        divergence_ = divergence_text(frame.session, figures, found_, reference_, threshold_);
    }

    void start(std::vector<RankHistory> ranks, std::vector<std::size_t> rows) {
        compared_ = std::move(ranks);
        compared_rows_ = std::move(rows);
        found_ = {};
        divergence_ = "Looking for where the ranks diverge\u2026";
        threshold_ = rank_threshold(table_.median_peak());
        reference_ = static_cast<std::size_t>(std::ranges::find(compared_rows_, *table_.median()) -
                                              compared_rows_.begin());
        job_.start([ranks = compared_, reference = reference_,
                    threshold = threshold_](const Cancelled& cancelled) {
            return find_divergences(ranks, reference, threshold, cancelled);
        });
    }

    // Where a row of the table is among what was compared; none: it wasn't compared, or not yet.
    std::optional<std::size_t> compared_at(std::size_t row) const {
        const auto found = std::ranges::lower_bound(compared_rows_, row);
        if (found == compared_rows_.end() || *found != row || found_.requests.empty())
            return std::nullopt;
        return static_cast<std::size_t>(found - compared_rows_.begin());
    }

    const RequestDivergence* leaves(std::size_t row) const {
        const auto at = compared_at(row);
        return at && found_.requests[*at] ? &*found_.requests[*at] : nullptr;
    }

    const ReservedDivergence* differs(std::size_t row) const {
        const auto at = compared_at(row);
        return at && found_.reserved[*at] ? &*found_.reserved[*at] : nullptr;
    }

    // --- the table -------------------------------------------------------------------------------

    // The value that sorts a column; rows without one are last.
    std::optional<std::int64_t> sort_key(const Frame& frame, std::size_t row) const {
        const RankFigures& rank = table_.rows()[row];
        const History* const history = frame.session.runs[rank.run].history.get();
        if (sorted_by_ == kNumber)
            return static_cast<std::int64_t>(row);
        if (!rank.is_known)
            return std::nullopt;
        switch (sorted_by_) {
            case kToMedian:
                return rank.over_median;
            case kPeakAt:
                return history->time(rank.peak_event);
            case kRefused:
                return rank.refusals == 0 ? std::nullopt
                                          : std::optional(history->time(rank.refused_at));
            case kLeaves:
                return leaves(row) == nullptr ? std::nullopt
                                              : std::optional(history->time(leaves(row)->event));
            case kDiffers:
                return differs(row) == nullptr ? std::nullopt : std::optional(differs(row)->time);
            default:
                return static_cast<std::int64_t>(rank.peak[Series::reserved]);
        }
    }

    void sort(const Frame& frame) {
        order_.resize(table_.rows().size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::vector<std::optional<std::int64_t>> keys;
        for (const std::size_t row : order_)
            keys.push_back(sort_key(frame, row));
        std::ranges::stable_sort(order_, [&](std::size_t a, std::size_t b) {
            if (!keys[a] || !keys[b])
                return keys[a].has_value() && !keys[b].has_value();
            return descending_ ? *keys[a] > *keys[b] : *keys[a] < *keys[b];
        });
    }

    Bytes scale() const { return std::max({table_.capacity(), table_.largest_peak(), Bytes{1}}); }

    std::vector<VirtualColumn> columns() const {
        const auto& rows = table_.rows();
        const bool none_refused =
            std::ranges::all_of(rows, [](const RankFigures& row) { return row.refusals == 0; });
        const auto is_none = [](const auto& all) {
            return std::ranges::none_of(all, [](const auto& one) { return one.has_value(); });
        };
        std::vector<VirtualColumn> columns(kRankColumns);
        columns[kNumber] = {.title = "rank", .align = Align::right, .sorts = true};
        columns[kBar] = {.title = bar_title_, .stretches = true};
        columns[kReserved] = {.title = "peak reserved", .align = Align::right, .sorts = true};
        columns[kToMedian] = {
            .title = "vs. median", .align = Align::right, .sorts = true, .droppable = true};
        columns[kPeakAt] = {
            .title = "peak at", .align = Align::right, .sorts = true, .droppable = true};
        columns[kRefused] = {
            .title = "out of memory", .align = Align::right, .sorts = true, .hidden = none_refused};
        columns[kLeaves] = {.title = "requests diverge at",
                            .align = Align::right,
                            .sorts = true,
                            .droppable = true,
                            .hidden = is_none(found_.requests)};
        columns[kDiffers] = {.title = "reserved diverges at",
                             .align = Align::right,
                             .sorts = true,
                             .droppable = true,
                             .hidden = is_none(found_.reserved)};
        columns[kFile] = {.title = "file", .droppable = true};
        return columns;
    }

    std::string cell(const Frame& frame, std::size_t row, std::size_t column) const {
        const RankFigures& rank = table_.rows()[row];
        const ViewedRun& run = frame.session.runs[rank.run];
        if (column == kNumber)
            return rank.number;
        if (column == kFile)
            return run.trace_name;
        if (!rank.is_known)
            return column == kBar ? why_not(run) : std::string();
        const auto time = [&](EventIndex event) {
            return format_duration(run.history->time(event));
        };
        switch (column) {
            case kReserved:
                return format_bytes(rank.peak[Series::reserved]);
            case kToMedian:
                return signed_bytes(rank.over_median);
            case kPeakAt:
                return time(rank.peak_event);
            case kRefused:
                return rank.refusals == 0 ? std::string()
                       : rank.refusals == 1
                           ? "at " + time(rank.refused_at)
                           : fmt::format("{}, first at {}", format_times(rank.refusals),
                                         time(rank.refused_at));
            case kLeaves:
                return leaves(row) == nullptr ? std::string() : time(leaves(row)->event);
            case kDiffers:
                return differs(row) == nullptr ? std::string()
                                               : format_duration(differs(row)->time);
            default:
                return {};
        }
    }

    static std::string why_not(const ViewedRun& run) {
        if (run.state.phase == LoadState::Phase::failed)
            return to_text(run.state.error);
        if (run.state.phase == LoadState::Phase::ready)
            return "has no events";
        return run.state.activity.empty() ? "waiting" : run.state.activity;
    }

    // Allocated, pending free and free memory at the peak, on the scale of all ranks, and the
    // median's.
    std::vector<CellBar> bars(const Frame& frame, std::size_t row) const {
        const Theme& theme = frame.canvas.theme();
        const RankFigures& rank = table_.rows()[row];
        if (!rank.is_known)
            return {};
        const auto share = [&](Bytes bytes) {
            return static_cast<double>(bytes) / static_cast<double>(scale());
        };
        const double allocated = share(rank.peak[Series::allocated]);
        const double active = share(rank.peak[Series::active]);
        const double reserved = share(rank.peak[Series::reserved]);
        const double median = share(table_.median_peak());
        return {{0, 1, mix(theme.panel, theme.text, 0.08)},
                {0, allocated, theme.used},
                {allocated, active, theme.active},
                {active, reserved, theme.cached},
                {median, median + 1e-9, theme.text}};
    }

    void draw_table(Frame& frame, const Box& box) {
        bar_title_ = table_.capacity() > 0
                         ? fmt::format("at the peak, of {}", format_bytes(scale()))
                         : fmt::format("at the peak, 0 to {}", format_bytes(scale()));
        const std::vector<VirtualColumn> titles = columns();
        TableContent content;
        content.columns = titles;
        content.rows = order_.size();
        content.sorted_by = sorted_by_;
        content.descending = descending_;
        content.text = [&](std::uint64_t at, std::size_t column) {
            return cell(frame, order_[at], column);
        };
        content.look = [&](std::uint64_t at) {
            const RankFigures& rank = row_of(at);
            RowLook look;
            look.selected = rank.run == frame.selection.run;
            look.hot = hot_run_ == rank.run;
            if (rank.is_known)
                look.mark = run_colour(frame.canvas.theme(), rank.run, frame.selection.run);
            else if (frame.session.runs[rank.run].state.phase == LoadState::Phase::failed)
                look.text = frame.canvas.theme().problem;
            return look;
        };
        content.bars = [&](std::uint64_t at, std::size_t column) {
            return column == kBar ? bars(frame, order_[at]) : std::vector<CellBar>();
        };
        if (followed_ != frame.selection.run)
            show_selected(frame);
        touch(frame, list_.draw(frame, box, "ranks", content));
    }

    // Shows the row of the rank that was opened elsewhere.
    void show_selected(const Frame& frame) {
        followed_ = frame.selection.run;
        for (std::size_t at = 0; at < order_.size(); ++at)
            if (row_of(at).run == followed_)
                list_.show(at);
    }

    void touch(Frame& frame, const TableTouch& touch) {
        if (touch.title) {
            descending_ = sorted_by_ == *touch.title ? !descending_ : *touch.title != kNumber;
            sorted_by_ = static_cast<RankColumn>(*touch.title);
        }
        if (touch.hovered) {
            frame.selection.described = described(frame, order_[*touch.hovered]);
            if (const RankFigures& rank = row_of(*touch.hovered); !rank.is_known)
                ImGui::SetTooltip("%s", why_not(frame.session.runs[rank.run]).c_str());
        }
        if (touch.clicked)
            show_rank(frame, row_of(*touch.clicked));
        if (!touch.double_clicked || !row_of(*touch.double_clicked).is_known)
            return;
        const RankFigures& rank = row_of(*touch.double_clicked);
        const History& history = *frame.session.runs[rank.run].history;
        frame.selection.cursor = history.position(frame.camera.unit(), rank.peak_event);
        frame.selection.wanted_view = "timeline";
    }

    // "rank 5\t71.2 GiB\t+9.40 GiB\t...", for the clipboard.
    std::string described(const Frame& frame, std::size_t row) const {
        std::string text = "rank ";
        for (std::size_t column = 0; column < kRankColumns; ++column)
            if (const std::string part = cell(frame, row, column); !part.empty())
                text += (column == 0 ? "" : "\t") + part;
        return text;
    }

    void show_rank(Frame& frame, const RankFigures& rank) {
        if (!rank.is_known || frame.selection.run == rank.run)
            return;
        frame.selection.run = rank.run;
        followed_ = rank.run;
        frame.selection.block.reset();
        frame.selection.used.clear();
    }

    // --- the tracks
    // -------------------------------------------------------------------------------

    // The first of `count` rows whose tracks are drawn: from the table's top on, but the shown
    // rank's is among them if its row is seen.
    std::size_t first_track(const Frame& frame, std::size_t count) const {
        const auto top = static_cast<std::size_t>(list_.first());
        std::size_t first = std::min(top, order_.size() - count);
        const std::size_t until = std::min<std::size_t>(top + list_.seen(), order_.size());
        for (std::size_t at = top; at < until; ++at)
            if (row_of(at).run == frame.selection.run && at >= first + count)
                first = at + 1 - count;
        return first;
    }

    void draw_tracks(Frame& frame, const Box& box) {
        Canvas& canvas = frame.canvas;
        Box plots = plot_box(canvas, box);
        plots.bottom = std::floor(box.bottom - TimeArea::axis_height(canvas));
        const float gap = std::round(canvas.px(4));
        const auto fit = static_cast<std::size_t>(
            std::max((plots.height() + gap) / (canvas.px(kLeastRankTrack) + gap), 0.0F));
        const std::size_t count = std::min({fit, kMostRankTracks, order_.size()});
        if (count == 0)
            return;
        const TimeArea area(frame, plots, "ranks");
        area.draw_grid();
        const std::size_t first = first_track(frame, count);
        const float height = (plots.height() + gap) / static_cast<float>(count);
        const auto top =
            static_cast<Bytes>(kRanksHeadroom * static_cast<double>(table_.largest_peak()));
        const std::size_t median = table_.rows()[table_.median().value_or(0)].run;
        hot_run_.reset();
        for (std::size_t i = 0; i < count; ++i) {
            const float from = std::round(plots.top + height * static_cast<float>(i));
            const Box track{plots.left, from, plots.right,
                            std::round(plots.top + height * static_cast<float>(i + 1)) - gap};
            const RankFigures& rank = row_of(first + i);
            if (area.hovered() && track.contains(ImGui::GetIO().MousePos)) {
                hot_run_ = rank.run;
                frame.selection.described = described(frame, order_[first + i]);
                if (area.clicked())
                    show_rank(frame, rank);
            }
            draw_rank_track(frame, area, {track, top}, track_of(order_[first + i], median),
                            columns_);
        }
        keep(first, count, median);
        area.draw_cursors();
        area.draw_axis();
    }

    RankTrack track_of(std::size_t row, std::size_t median) const {
        const RankFigures& rank = table_.rows()[row];
        RankTrack track{rank, median, {}, {}};
        if (const RequestDivergence* const at = leaves(row))
            track.leaves = at->event;
        if (const ReservedDivergence* const at = differs(row))
            track.differs = at->time;
        return track;
    }

    // Forgets the columns of tracks that aren't seen any more.
    void keep(std::size_t first, std::size_t count, std::size_t median) {
        std::erase_if(columns_, [&](const auto& each) {
            if (each.first == median)
                return false;
            for (std::size_t at = first; at < first + count; ++at)
                if (row_of(at).run == each.first)
                    return false;
            return true;
        });
    }

    RankTable table_;
    std::vector<std::size_t> order_;    // rows, as they are sorted
    RankColumn sorted_by_ = kReserved;  // the one that needs most is first
    bool descending_ = true;
    std::string bar_title_;
    VirtualTable list_;
    std::optional<std::size_t> followed_;  // the shown run, when the table last went to it
    std::optional<std::size_t> hot_run_;   // whose track is under the mouse
    TrackColumns columns_;
    std::vector<RankHistory> compared_;
    std::vector<std::size_t> compared_rows_;  // rising
    std::size_t reference_ = 0;               // among what was compared
    Bytes threshold_ = 0;
    RankDivergences found_;
    std::string divergence_;
    Job<RankDivergences> job_;
};

}  // namespace

ViewInfo ranks_view() {
    return {"ranks",
            "Ranks",
            "the ranks of one program: who needs most, where they diverge, a curve of each",
            Pane::main,
            make_view<RanksView>,
            true,
            has_ranks};
}

}  // namespace tidemark::viz
