// Bars of a comparison, and curves of a run.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/spread/spread_text.h"
#include "replay/report/charts/plot.h"
#include "replay/report/forms/axis_ticks.h"
#include "replay/report/forms/byte_axis.h"
#include "replay/report/forms/theme.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using Anchor = PlotText::Anchor;

constexpr double kPlotMargin = 24;
constexpr double kPlotNames = 290;   // width of the names left of the bars
constexpr double kPlotValues = 330;  // and right of them
constexpr double kBarPitch = 26;
constexpr double kBarHeight = 16;
constexpr double kCurveHeight = 320;
constexpr double kCurveAxis = 84;
constexpr std::size_t kLongestName = 42;

// Plots go on paper and into other pages, so they are light.
std::string ink(Colour Theme::*colour) {
    return css(light_theme().*colour);
}

std::string short_name(const std::string& name) {
    return one_line(name, kLongestName);
}

Bytes peak_of(const Run& run, std::string_view kind) {
    return run.measurement(fmt::format("peak_{}_bytes", kind)).whole;
}

// Points per byte, for `most` bytes on `length` points.
double points_for(Bytes most, double length) {
    return most == 0 ? 0 : length / static_cast<double>(most);
}

// A bar for each row, lowest peak first, those with refusals last; the recorded run among them.
class Bars {
  public:
    explicit Bars(const Comparison& comparison) : comparison_(comparison) {
        Bytes most = 0;
        for (const TraceComparison& trace : comparison.traces) {
            for (const ComparisonRow& row : trace.rows)
                most = std::max({most, peak_of(row.run, "reserved"),
                                 row.run.peak_spread ? row.run.peak_spread->p95 : 0});
            if (trace.recorded)
                most = std::max(most, peak_of(trace.recorded->run, "reserved"));
        }
        axis_ = report::byte_axis(most);
        scale_ = points_for(axis_.top, plot_.width - kPlotNames - kPlotValues);
    }

    Plot draw() {
        double top = kPlotMargin;
        for (const TraceComparison& trace : comparison_.traces)
            top = draw_trace(trace, top) + kPlotMargin;
        draw_axis(top);
        plot_.texts.push_back({kPlotMargin, top + 30,
                               "peak of reserved memory; blue line: what the program requested; "
                               "dark bar: recommended; frame: as recorded; thin: from run to run",
                               Anchor::begin, 11, ink(&Theme::faint_text)});
        plot_.height = top + 30 + kPlotMargin;
        return std::move(plot_);
    }

  private:
    struct Bar {
        const ComparisonRow* row = nullptr;
        bool recorded = false;

        std::uint64_t refused() const { return row->run.measurement("out_of_memory").whole; }
    };

    static std::vector<Bar> bars_of(const TraceComparison& trace) {
        std::vector<Bar> bars;
        if (trace.recorded)
            bars.push_back({&*trace.recorded, true});
        for (const ComparisonRow& row : trace.rows)
            bars.push_back({&row, false});
        std::ranges::stable_sort(bars, {}, [](const Bar& bar) {
            return std::pair(bar.refused() > 0, peak_of(bar.row->run, "reserved"));
        });
        return bars;
    }

    double draw_trace(const TraceComparison& trace, double top) {
        plot_.texts.push_back(
            {kPlotMargin, top + 14, short_name(trace.name), Anchor::begin, 15, ink(&Theme::text)});
        top += 30;
        const double begin = top;
        Bytes requested = 0;
        for (const Bar& bar : bars_of(trace)) {
            requested = std::max(requested, peak_of(bar.row->run, "requested"));
            draw_bar(bar, top);
            top += kBarPitch;
        }
        const double x = x_of(requested);
        plot_.shapes.push_back(line(x, begin - 4, x, top - 4, ink(&Theme::requested), 1.5));
        return top;
    }

    void draw_bar(const Bar& bar, double top) {
        const ComparisonRow& row = *bar.row;
        const Bytes reserved = peak_of(row.run, "reserved");
        const double right = x_of(reserved);
        const Theme& theme = light_theme();
        const std::string full = css(theme.reserved);
        const std::string pale = css(mix(theme.plot, theme.reserved, 0.45));
        if (bar.recorded) {
            plot_.shapes.push_back(box(kPlotNames, top, right, top + kBarHeight, full));
            plot_.shapes.push_back(box(kPlotNames + 2, top + 2, std::max(right - 2, kPlotNames + 2),
                                       top + kBarHeight - 2, css(theme.plot)));
        } else {
            plot_.shapes.push_back(
                box(kPlotNames, top, right, top + kBarHeight, row.recommended ? full : pale));
        }
        std::string value = format_bytes(reserved);
        double end = right;
        if (row.run.peak_spread) {
            const PeakSpread& spread = *row.run.peak_spread;
            const double middle = top + kBarHeight / 2;
            end = x_of(spread.p95);
            plot_.shapes.push_back(
                line(x_of(spread.p5), middle, end, middle, ink(&Theme::text), 2));
            value += fmt::format(" ({})", range_text(spread));
        }
        if (bar.refused() > 0)
            value += ", out of memory " + format_times(bar.refused());
        plot_.texts.push_back({kPlotNames - 8, top + 12,
                               bar.recorded ? "as recorded" : short_name(row.label), Anchor::end});
        plot_.texts.push_back({std::max(right, end) + 6, top + 12, value});
    }

    // Under all bars, its lines behind them.
    void draw_axis(double bottom) {
        std::vector<PlotShape> lines;
        for (const ByteTick& tick : byte_ticks(0, axis_.top, axis_.top / axis_.step)) {
            const double x = x_of(tick.bytes);
            lines.push_back(
                line(x, kPlotMargin + 20, x, bottom - kPlotMargin, ink(&Theme::grid), 1));
            plot_.texts.push_back({x, bottom - kPlotMargin + 16, tick.label, Anchor::middle, 11,
                                   ink(&Theme::faint_text)});
        }
        plot_.shapes.insert(plot_.shapes.begin(), lines.begin(), lines.end());
    }

    double x_of(Bytes bytes) const { return kPlotNames + static_cast<double>(bytes) * scale_; }

    const Comparison& comparison_;
    Plot plot_;
    report::ByteAxis axis_;
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
                               Anchor::begin, 15, ink(&Theme::text)});
        draw_grid();
        const auto reserved = [](const TimelineBucket& bucket) { return bucket.reserved_max; };
        area(reserved, ink(&Theme::cached));
        area([](const TimelineBucket& bucket) { return bucket.allocated_max; }, ink(&Theme::used));
        curve(reserved, ink(&Theme::reserved), 2);
        curve([](const TimelineBucket& bucket) { return bucket.requested_max; },
              ink(&Theme::requested), 1);
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
        for (const ByteTick& tick : byte_ticks(0, top_, top_ / axis.step)) {
            const double y = y_of(tick.bytes);
            plot_.shapes.push_back(
                line(kCurveAxis, y, plot_.width - kPlotMargin, y, ink(&Theme::grid), 1));
            plot_.texts.push_back(
                {kCurveAxis - 8, y + 4, tick.label, Anchor::end, 11, ink(&Theme::faint_text)});
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
    void area(const Get& get, std::string colour) {
        std::vector<std::pair<double, double>> points = steps(get);
        if (points.empty())
            return;
        points.emplace_back(points.back().first, kBottom);
        points.emplace_back(kCurveAxis, kBottom);
        plot_.shapes.push_back({.points = std::move(points), .colour = std::move(colour)});
    }

    template <class Get>
    void curve(const Get& get, std::string colour, double width) {
        plot_.shapes.push_back({.points = steps(get), .colour = std::move(colour), .width = width});
    }

    void draw_times() {
        const AxisUnit unit = last_ > 0 ? AxisUnit::time : AxisUnit::events;
        const Position end = std::max<Position>(
            last_ > 0 ? last_ : static_cast<Position>(run_.summary.events) * kPositionsPerEvent, 1);
        for (const Tick& tick : time_ticks(unit, {0, end}, 6).ticks) {
            const double share = static_cast<double>(tick.position) / static_cast<double>(end);
            const double x = kCurveAxis + share * (plot_.width - kCurveAxis - kPlotMargin);
            plot_.texts.push_back({x, kBottom + 18, tick.label,
                                   share > 0.97 ? Anchor::end : Anchor::middle, 11,
                                   ink(&Theme::faint_text)});
        }
    }

    void legend() {
        double x = kCurveAxis;
        const auto entry = [&](Colour Theme::*colour, std::string_view kind) {
            const std::string text =
                fmt::format("{}, at most {}", kind, format_bytes(peak_of(run_, kind)));
            plot_.shapes.push_back(box(x, 36, x + 12, 48, ink(colour)));
            plot_.texts.push_back({x + 18, 46, text});
            x += 230;
        };
        entry(&Theme::reserved, "reserved");
        entry(&Theme::used, "allocated");
        entry(&Theme::requested, "requested");
        plot_.shapes.push_back(box(x, 36, x + 12, 48, ink(&Theme::cached)));
        plot_.texts.push_back({x + 18, 46, "reserved, not allocated"});
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
