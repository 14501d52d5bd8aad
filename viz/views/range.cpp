// Range: figures of the measured stretch: minimum, mean and maximum of the curves, and histograms
// of the sizes and lifetimes of what was allocated in it. Without two cursors, the whole run.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/draw/filter_bar.h"
#include "viz/draw/table.h"
#include "viz/model/blocks/range_summary.h"
#include "viz/model/session/async_query.h"
#include "viz/views/inspection.h"
#include "viz/views/timeline_plot.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr std::array<VirtualColumn, 4> kCurveColumns{{
    {"curve", Align::left},
    {"min", Align::right},
    {"mean", Align::right},
    {"max", Align::right},
}};

constexpr float kHistogramBar = 110;                               // points
constexpr std::array<double, 4> kRangeParts{0, 0.37, 0.685, 1.0};  // of the width: where they start

// How a histogram's bins are named.
struct HistogramLook {
    std::string_view title;
    const char* id;
    std::string (*bin)(std::uint64_t low);
};

std::string bin_of_size(std::uint64_t low) {
    return format_bytes(low);
}

std::string bin_of_time(std::uint64_t low) {
    return format_duration(static_cast<Nanoseconds>(std::min(low, std::uint64_t{1} << 62U)));
}

std::string bin_of_events(std::uint64_t low) {
    return format_counted(low, "event");
}

// A row for each bin, from the smallest values on; bars for blocks and for their bytes.
void draw_histogram(Frame& frame, const Box& box, const Histogram& bins, const HistogramLook& look,
                    VirtualTable& table) {
    const std::array<VirtualColumn, 3> columns{{
        {look.title, Align::right},
        {"blocks", Align::right, false, true, false, false, kHistogramBar},
        {"bytes", Align::right, false, true, false, false, kHistogramBar},
    }};
    std::uint64_t most_blocks = 1;
    Bytes most_bytes = 1;
    for (const HistogramBin& bin : bins) {
        most_blocks = std::max(most_blocks, bin.count);
        most_bytes = std::max(most_bytes, bin.bytes);
    }
    TableContent content;
    content.columns = columns;
    content.rows = bins.size();
    content.text = [&](std::uint64_t row, std::size_t column) {
        const HistogramBin& bin = bins[row];
        return column == 0   ? look.bin(bin.low)
               : column == 1 ? format_count(bin.count)
                             : format_bytes(bin.bytes);
    };
    const Theme& theme = frame.canvas.theme();
    content.bars = [&](std::uint64_t row, std::size_t column) -> std::vector<CellBar> {
        const auto share = [](std::uint64_t part, std::uint64_t whole) {
            return static_cast<double>(part) / static_cast<double>(whole);
        };
        if (column == 1)
            return {{0, share(bins[row].count, most_blocks), mix(theme.panel, theme.active, 0.4)}};
        if (column == 2)
            return {{0, share(bins[row].bytes, most_bytes), theme.used}};
        return {};
    };
    content.empty = "No blocks.";
    table.draw(frame, box, look.id, content);
}

class RangeView final : public View {
  public:
    void draw(Frame& frame) override {
        if (follow_shown(frame, history_, names_) == Shown::nothing)
            return draw_no_history(frame);
        ask(frame);
        const Box below =
            draw_filter_bar(frame, frame.area, frame.area.left, *history_, total(frame));
        const RangeSummary* const summary = range_.answer();
        if (summary == nullptr)
            return draw_notice(frame.canvas, below, "Adding up\u2026");
        draw_parts(frame, below, *summary);
    }

    bool busy() const override { return range_.running(); }

  private:
    void ask(const Frame& frame) {
        const AxisUnit unit = frame.camera.unit();
        const auto& measure = frame.selection.measure;
        const std::size_t events = history_->counts().events;
        std::optional<RangeQuestion> question;
        if (const auto span = measured_span(*history_, unit, measure))
            question = RangeQuestion{unit, *measure, *span, frame.selection.filter};
        else if (events > 0)
            question = RangeQuestion{unit,
                                     {0, history_->end(unit)},
                                     {kNever, static_cast<EventIndex>(events - 1)},
                                     frame.selection.filter};
        const bool any = question && question->span.last != kNever;
        range_.ask(history_, question, any ? question->span.last : 0, range_summary);
        if (frame.still)
            range_.finish();
    }

    std::string total(const Frame& frame) const {
        std::string text = frame.selection.measure ? "between the two cursors"
                                                   : "over the whole run (Shift-drag to measure)";
        const RangeSummary* const summary = range_.answer();
        if (summary == nullptr)
            return text;
        text += fmt::format(": {}, {} allocated with {}", format_counted(summary->events, "event"),
                            format_counted(summary->blocks, "block"), format_bytes(summary->bytes));
        if (summary->unfreed_blocks > 0)
            text += fmt::format(", {} of them never freed", format_count(summary->unfreed_blocks));
        return text;
    }

    void draw_parts(Frame& frame, const Box& box, const RangeSummary& summary) {
        Canvas& canvas = frame.canvas;
        const float gap = canvas.px(10);
        const auto edge = [&](double share) {
            return std::round(box.left + box.width() * static_cast<float>(share));
        };
        const auto part = [&](std::size_t index) {
            return Box{edge(kRangeParts[index]), box.top, edge(kRangeParts[index + 1]) - gap,
                       box.bottom};
        };
        draw_curves(frame, part(0), summary);
        draw_histogram(frame, part(1), summary.sizes, {"size from", "sizes", bin_of_size}, sizes_);
        draw_histogram(
            frame, part(2), summary.lifetimes,
            {"lifetime from", "lifetimes", summary.has_times ? bin_of_time : bin_of_events},
            lifetimes_);
        for (const std::size_t index : {1U, 2U})
            canvas.vertical(part(index).left - gap / 2, box.top, box.bottom, canvas.theme().border);
    }

    void draw_curves(Frame& frame, const Box& box, const RangeSummary& summary) {
        TableContent content;
        content.columns = kCurveColumns;
        content.rows = kSeriesCount;
        content.text = [&](std::uint64_t row, std::size_t column) {
            const SeriesRange& range = summary.series[row];
            switch (column) {
                case 0:
                    return std::string(to_text(static_cast<Series>(row)));
                case 1:
                    return format_bytes(range.min);
                case 2:
                    return format_bytes(range.mean);
                default:
                    return format_bytes(range.max);
            }
        };
        content.look = [&](std::uint64_t row) {
            RowLook look;
            look.mark = colour_of(frame.canvas.theme(), static_cast<Series>(row));
            return look;
        };
        curves_.draw(frame, box, "curves", content);
    }

    std::shared_ptr<const History> history_;
    std::unique_ptr<SiteNames> names_;
    AsyncQuery<RangeQuestion, RangeSummary> range_;
    VirtualTable curves_;
    VirtualTable sizes_;
    VirtualTable lifetimes_;
};

}  // namespace

ViewInfo range_view() {
    return {"range", "Range", "The measured range: figures of the curves, sizes and lifetimes.",
            Pane::table, make_view<RangeView>};
}

}  // namespace tidemark::viz
