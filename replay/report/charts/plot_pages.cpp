// Bars of a comparison, and curves of a run.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/spread/spread_text.h"
#include "replay/report/charts/axis.h"
#include "replay/report/charts/plot.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using Anchor = PlotText::Anchor;

constexpr double kPlotMargin = 24;
constexpr double kPlotNames = 290;   // width of what stands left of the bars
constexpr double kPlotValues = 330;  // and right of them
constexpr double kBarPitch = 26;
constexpr double kBarHeight = 16;
constexpr double kCurveHeight = 320;
constexpr double kCurveAxis = 84;
constexpr std::size_t kLongestName = 42;

constexpr const char* kReservedFill = "#a9c4e0";
constexpr const char* kBestFill = "#2f6ea8";
constexpr const char* kAllocatedFill = "#2f6ea8";
constexpr const char* kRequestedLine = "#c2571a";
constexpr const char* kGridLine = "#d9d9d9";
constexpr const char* kQuiet = "#666666";

std::string short_name(const std::string& name) {
    return one_line(name, kLongestName);
}

Bytes peak_of(const Run& run, std::string_view kind) {
    return run.measurement(fmt::format("peak_{}_bytes", kind)).whole;
}

// How many points a byte is, for `most` bytes on `length` points.
double points_for(Bytes most, double length) {
    return most == 0 ? 0 : length / static_cast<double>(most);
}

class Bars {
  public:
    explicit Bars(const Comparison& comparison) : comparison_(comparison) {
        for (const TraceComparison& trace : comparison.traces)
            for (const ComparisonRow& row : trace.rows)
                most_ = std::max({most_, peak_of(row.run, "reserved"),
                                  row.run.peak_spread ? row.run.peak_spread->p95 : 0});
        scale_ = points_for(most_, plot_.width - kPlotNames - kPlotValues);
    }

    Plot draw() {
        double top = kPlotMargin;
        for (const TraceComparison& trace : comparison_.traces)
            top = draw_trace(trace, top) + kPlotMargin;
        plot_.texts.push_back({kPlotMargin, top,
                               "peak of reserved memory; orange: what the "
                               "program requested; thin: from run to run",
                               Anchor::begin, 11, kQuiet});
        plot_.height = top + kPlotMargin;
        return std::move(plot_);
    }

  private:
    double draw_trace(const TraceComparison& trace, double top) {
        plot_.texts.push_back(
            {kPlotMargin, top + 14, short_name(trace.name), Anchor::begin, 15, "#222222"});
        top += 30;
        const double begin = top;
        Bytes requested = 0;
        for (const ComparisonRow& row : trace.rows) {
            requested = std::max(requested, peak_of(row.run, "requested"));
            draw_row(row, top);
            top += kBarPitch;
        }
        const double x = kPlotNames + static_cast<double>(requested) * scale_;
        plot_.shapes.push_back(line(x, begin - 4, x, top - 4, kRequestedLine, 1.5));
        return top;
    }

    void draw_row(const ComparisonRow& row, double top) {
        const Bytes reserved = peak_of(row.run, "reserved");
        const double right = kPlotNames + static_cast<double>(reserved) * scale_;
        plot_.shapes.push_back(box(kPlotNames, top, right, top + kBarHeight,
                                   row.recommended ? kBestFill : kReservedFill));
        std::string value = format_bytes(reserved);
        double end = right;
        if (row.run.peak_spread) {
            const PeakSpread& spread = *row.run.peak_spread;
            const double middle = top + kBarHeight / 2;
            end = kPlotNames + static_cast<double>(spread.p95) * scale_;
            plot_.shapes.push_back(line(kPlotNames + static_cast<double>(spread.p5) * scale_,
                                        middle, end, middle, "#222222", 2));
            value += fmt::format(" ({})", range_text(spread));
        }
        const std::uint64_t failed = row.run.measurement("out_of_memory").whole;
        if (failed > 0)
            value += ", out of memory " + format_times(failed);
        plot_.texts.push_back({kPlotNames - 8, top + 12, short_name(row.label), Anchor::end});
        plot_.texts.push_back({std::max(right, end) + 6, top + 12, value});
    }

    const Comparison& comparison_;
    Plot plot_;
    Bytes most_ = 0;
    double scale_ = 0;
};

class Curves {
  public:
    explicit Curves(const Run& run) : run_(run), buckets_(run.timeline.buckets) {
        for (const TimelineBucket& bucket : buckets_)
            most_ = std::max({most_, bucket.reserved_max, bucket.allocated_max});
        if (!buckets_.empty())
            last_ = buckets_.back().time;
    }

    Plot draw(const std::string& name) {
        plot_.height = kCurveHeight;
        plot_.texts.push_back({kPlotMargin, 22,
                               fmt::format("{} under {}", short_name(name),
                                           one_line(run_.scenario.policy, 2 * kLongestName)),
                               Anchor::begin, 15, "#222222"});
        draw_grid();
        area([](const TimelineBucket& bucket) { return bucket.reserved_max; }, kReservedFill);
        area([](const TimelineBucket& bucket) { return bucket.allocated_max; }, kAllocatedFill);
        requested();
        draw_times();
        legend();
        return std::move(plot_);
    }

  private:
    static constexpr double kTop = 60;
    static constexpr double kBottom = kCurveHeight - 34;

    double x_of(std::size_t bucket) const {
        const double share =
            last_ > 0 ? static_cast<double>(buckets_[bucket].time) / static_cast<double>(last_)
                      : static_cast<double>(bucket + 1) / static_cast<double>(buckets_.size());
        return kCurveAxis + std::clamp(share, 0.0, 1.0) * (plot_.width - kCurveAxis - kPlotMargin);
    }

    double y_of(Bytes bytes) const {
        return kBottom - static_cast<double>(bytes) * points_for(top_, kBottom - kTop);
    }

    void draw_grid() {
        const report::ByteAxis axis = report::byte_axis(most_);
        top_ = axis.top;
        for (Bytes i = 0; i <= top_ / axis.step; ++i) {
            const Bytes tick = i * axis.step;
            const double y = y_of(tick);
            plot_.shapes.push_back(line(kCurveAxis, y, plot_.width - kPlotMargin, y, kGridLine, 1));
            plot_.texts.push_back(
                {kCurveAxis - 8, y + 4, report::tick_label(tick), Anchor::end, 11, kQuiet});
        }
    }

    // Steps: a bucket's figure holds from the end of the one before it to its own end.
    template <class Get>
    std::vector<std::pair<double, double>> steps(const Get& get) const {
        std::vector<std::pair<double, double>> points;
        double x = kCurveAxis;
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            const double y = y_of(get(buckets_[i]));
            if (points.empty() || points.back().second != y)
                points.emplace_back(x, y);
            x = std::max(x, x_of(i));
            points.emplace_back(x, y);
        }
        return points;
    }

    template <class Get>
    void area(const Get& get, const char* colour) {
        std::vector<std::pair<double, double>> points = steps(get);
        if (points.empty())
            return;
        points.emplace_back(points.back().first, kBottom);
        points.emplace_back(kCurveAxis, kBottom);
        plot_.shapes.push_back({.points = std::move(points), .colour = colour});
    }

    void requested() {
        plot_.shapes.push_back(
            {.points = steps([](const TimelineBucket& bucket) { return bucket.requested_max; }),
             .colour = kRequestedLine,
             .width = 1});
    }

    void draw_times() {
        for (const unsigned quarter : {0U, 1U, 2U, 3U, 4U}) {
            const double x = kCurveAxis + quarter / 4.0 * (plot_.width - kCurveAxis - kPlotMargin);
            plot_.texts.push_back({x, kBottom + 18,
                                   last_ > 0 ? format_duration(last_ / 4 * quarter)
                                             : fmt::format("{} %", quarter * 25),
                                   quarter == 4 ? Anchor::end : Anchor::middle, 11, kQuiet});
        }
    }

    void legend() {
        double x = kCurveAxis;
        const auto entry = [&](const char* colour, std::string_view kind) {
            const std::string text =
                fmt::format("{}, at most {}", kind, format_bytes(peak_of(run_, kind)));
            plot_.shapes.push_back(box(x, 36, x + 12, 48, colour));
            plot_.texts.push_back({x + 18, 46, text});
            x += 230;
        };
        entry(kReservedFill, "reserved");
        entry(kAllocatedFill, "allocated");
        entry(kRequestedLine, "requested");
    }

    const Run& run_;
    const std::vector<TimelineBucket>& buckets_;
    Plot plot_;
    Bytes most_ = 0;
    Bytes top_ = 1;
    Nanoseconds last_ = 0;
};

}  // namespace

Plot comparison_plot(const Comparison& comparison) {
    return Bars(comparison).draw();
}

Plot run_plot(const std::string& name, const Run& run) {
    return Curves(run).draw(name);
}

}  // namespace tidemark
