// Charts. A chart is an SVG whose labels overflow into its margins; the curves are another SVG
// inside it, which is stretched to the chart's width.
#include "replay/report/page/html_curves.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <span>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/facts/memory_parts.h"
#include "replay/facts/readable_axis.h"
#include "replay/report/forms/axis_ticks.h"
#include "replay/report/forms/byte_axis.h"
#include "replay/report/forms/wording.h"
#include "replay/report/page/html_markup.h"
#include "replay/report/page/page_style.h"
#include "replay/report/page/report_facts.h"
#include "replay/timeline/fullest_event.h"

namespace tidemark::report {
namespace {

constexpr std::size_t kChartColumns = 720;
constexpr std::size_t kSmallChartColumns = 240;  // if there are many
constexpr std::size_t kManyCharts = 4;
constexpr std::size_t kMostCharts = 16;
constexpr std::size_t kMostTimeTicks = 6;
constexpr double kPlotHeight = 240;
constexpr double kSmallPlotHeight = 120;
constexpr int kCurveUnits = 1000;  // the height of the stretched SVG

using Columns = std::vector<SeriesColumn>;
using Level = std::function<Bytes(const SeriesColumn&)>;

Level most_of(Series series) {
    return [series](const SeriesColumn& column) { return column.max[series]; };
}

Level least_of(Series series) {
    return [series](const SeriesColumn& column) { return column.min[series]; };
}

std::size_t runs_of(const ReportInput& input, std::size_t trace) {
    return static_cast<std::size_t>(std::ranges::count(input.runs, trace, &ReportedRun::trace));
}

Bytes reserved_peak(const ReportedRun& run) {
    const History& history = *run.recorded.history;
    if (history.counts().events == 0)
        return 0;
    return history.values(history.peak_event(Series::reserved))[Series::reserved];
}

// "run2", and dashed where colours begin again.
std::string run_class(std::size_t number) {
    if (number == 0)
        return "run0";
    const std::size_t others = kRunColours - 1;
    return fmt::format("run{}{}", 1 + (number - 1) % others, number > others ? " dashed" : "");
}

struct Curve {
    const ReportedRun* run = nullptr;
    std::size_t number = 0;  // among the runs of its trace
    Columns columns;
};

// One chart: the runs of a trace over an axis.
class RunChart {
  public:
    RunChart(const ReportInput& input, std::size_t trace, AxisUnit unit, Bytes most, bool small)
        : unit_(unit), height_(small ? kSmallPlotHeight : kPlotHeight) {
        for (const ReportedRun& run : input.runs) {
            if (run.trace != trace)
                continue;
            const History& history = *run.recorded.history;
            end_ = history.end(unit);
            Curve& curve = curves_.emplace_back(&run, curves_.size());
            curve.columns.resize(small ? kSmallChartColumns : kChartColumns);
            history.series(unit, 0, end_, curve.columns);
            limit_ = std::max(limit_, history.limit());
        }
        // A limit far above explains nothing; a near one does.
        if (limit_ > most + most / 2)
            limit_ = 0;
        axis_ = byte_axis(std::max({most, limit_, Bytes{1}}));
    }

    std::string markup(std::string_view description) const {
        std::string out = fmt::format(
            "<svg class=\"chart\" height=\"{0}\" role=\"img\" aria-label=\"{1}\">\n"
            "<rect class=\"ground\" width=\"100%\" height=\"{0}\"/>\n",
            height_, escaped(description));
        out += ticks();
        out += fmt::format(
            "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" width=\"100%\" "
            "height=\"{}\">\n",
            curves_.front().columns.size(), kCurveUnits, height_);
        out += shapes();
        return out + "</svg>\n" + marks() + limit() + peaks() + "</svg>\n";
    }

  private:
    // From above.
    double share_above(Bytes bytes) const {
        return 1 - std::min(static_cast<double>(bytes) / static_cast<double>(axis_.top), 1.0);
    }

    double y_of(Bytes bytes) const { return height_ * share_above(bytes); }

    int units_of(Bytes bytes) const {
        return static_cast<int>(std::lround(kCurveUnits * share_above(bytes)));
    }

    double percent(Position position) const {
        return 100 * static_cast<double>(position) / static_cast<double>(end_);
    }

    std::string ticks() const {
        std::string out;
        for (const ByteTick& tick : byte_ticks(0, axis_.top, axis_.top / axis_.step)) {
            const double y = y_of(tick.bytes);
            out += fmt::format(
                "<line class=\"grid\" x2=\"100%\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>"
                "<text class=\"tick\" x=\"-8\" y=\"{1:.1f}\" text-anchor=\"end\">{2}</text>\n",
                y, y + 4, tick.label);
        }
        const AxisTicks across = time_ticks(unit_, {0, end_}, kMostTimeTicks);
        for (std::size_t i = 0; i < across.ticks.size(); ++i) {
            const double x = percent(across.ticks[i].position);
            out += fmt::format(
                "<line class=\"grid\" x1=\"{0:.2f}%\" x2=\"{0:.2f}%\" y2=\"100%\"/>"
                "<text class=\"tick{1}\" x=\"{0:.2f}%\" y=\"{2}\" text-anchor=\"{3}\">{4}</text>\n",
                x, i % 2 == 1 ? " odd" : "", height_ + 18, x > 95 ? "end" : "middle",
                across.ticks[i].label);
        }
        return out;
    }

    // The edge of a shape, a step a column, to the right or back to the left.
    std::string edge(const Columns& columns, const Level& level, bool back) const {
        std::string path;
        int held = -1;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const std::size_t column = back ? columns.size() - 1 - i : i;
            const int y = units_of(level(columns[column]));
            if (y != held)
                path += fmt::format("{}V{}",
                                    i == 0 ? "" : fmt::format("H{}", column + (back ? 1 : 0)), y);
            held = y;
        }
        return path + fmt::format("H{}", back ? 0 : columns.size());
    }

    std::string line_of(const Columns& columns, const Level& level, std::string_view name) const {
        return fmt::format("<path class=\"line {}\" d=\"M0 {}{}\"/>\n", name,
                           units_of(level(columns.front())), edge(columns, level, false));
    }

    std::string band_of(const Columns& columns, const Level& upper, const Level& lower,
                        std::string_view name) const {
        return fmt::format("<path class=\"{}\" d=\"M0 {}{}{}Z\"/>\n", name,
                           units_of(upper(columns.front())), edge(columns, upper, false),
                           edge(columns, lower, true));
    }

    // The first run has areas, lighter ones if others' lines are over them; others have only a line
    // for what they reserve.
    std::string shapes() const {
        const Columns& first = curves_.front().columns;
        const Level nothing = [](const SeriesColumn&) { return Bytes{0}; };
        std::string out =
            band_of(first, most_of(Series::reserved), most_of(Series::allocated),
                    curves_.size() > 1 ? "cached pale" : "cached") +
            band_of(first, most_of(Series::allocated), least_of(Series::allocated), "swing") +
            band_of(first, least_of(Series::allocated), nothing, "used") +
            line_of(first, most_of(Series::allocated), "allocated") +
            line_of(first, most_of(Series::requested), "requested");
        for (std::size_t i = curves_.size(); i-- > 0;) {
            const Curve& curve = curves_[i];
            const std::string name = run_class(curve.number);
            out += band_of(curve.columns, most_of(Series::reserved), least_of(Series::reserved),
                           "band " + name) +
                   line_of(curve.columns, most_of(Series::reserved), name);
        }
        return out;
    }

    // Requests out of memory: each run's first across the chart, the others at its upper edge.
    // Those of the recording belong to the first run.
    std::string marks() const {
        constexpr double kApart = 0.4;  // percent
        constexpr std::string_view kShort = "10";
        std::string out;
        std::string first;
        for (const Curve& curve : curves_) {
            const History& history = *curve.run->recorded.history;
            double last = -kApart;
            for (std::size_t i = 0; i < history.counts().marks; ++i) {
                const Mark mark = history.mark(i);
                const bool recorded = mark.kind == MarkKind::recorded_out_of_memory;
                if (mark.kind != MarkKind::out_of_memory && (!recorded || curve.number > 0))
                    continue;
                const double x = percent(history.position(unit_, mark.event));
                if (x < last + kApart)
                    continue;
                const bool is_first = last < 0;
                last = x;
                out += fmt::format(
                    "<line class=\"refusal{0}\" x1=\"{1:.2f}%\" x2=\"{1:.2f}%\" y2=\"{2}\"/>\n",
                    recorded ? " recorded" : "", x, is_first ? "100%" : kShort);
                if (is_first && first.empty())
                    first = label(x, height_ - 8, "refusal",
                                  recorded ? "out of memory when recorded" : "out of memory");
            }
        }
        return out + first;
    }

    std::string limit() const {
        if (limit_ == 0)
            return {};
        return fmt::format("<line class=\"limit\" x2=\"100%\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>\n",
                           y_of(limit_)) +
               fmt::format("<text class=\"label limit\" x=\"6\" y=\"{:.1f}\">limit {}</text>\n",
                           y_of(limit_) + 15, format_bytes(limit_));
    }

    static std::string label(double x, double y, std::string_view name, std::string_view text) {
        const std::string_view anchor = x < 14 ? "start" : x > 86 ? "end" : "middle";
        return fmt::format(
            "<text class=\"label {}\" x=\"{:.2f}%\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
            name, x, y, anchor, text);
    }

    // A ring at each run's peak, and its bytes if no other label is there.
    std::string peaks() const {
        std::string rings;
        std::string labels;
        std::vector<std::pair<double, double>> taken;
        for (const Curve& curve : curves_) {
            const History& history = *curve.run->recorded.history;
            const Bytes peak = reserved_peak(*curve.run);
            const EventIndex event = fullest_event(history);
            const double x = percent(history.position(unit_, event));
            const double y = y_of(peak);
            const std::string name = run_class(curve.number);
            rings += fmt::format(
                "<circle class=\"peak {}\" cx=\"{:.2f}%\" cy=\"{:.1f}\" r=\"4\"><title>{}: {} at "
                "event {}</title></circle>\n",
                name, x, y, escaped(curve.run->label), format_bytes(peak), format_count(event));
            const bool is_free = std::ranges::none_of(taken, [&](const auto& other) {
                return std::abs(other.first - x) < 34 && std::abs(other.second - y) < 18;
            });
            if (!is_free)
                continue;
            taken.emplace_back(x, y);
            labels += label(x, y - 9, "", "peak " + format_bytes(peak));
        }
        return rings + labels;
    }

    AxisUnit unit_;
    double height_;
    std::vector<Curve> curves_;
    Position end_ = 1;
    Bytes limit_ = 0;
    ByteAxis axis_;
};

std::string swatch(std::string_view name, std::string_view text) {
    return fmt::format("<span><i class=\"{}\"></i><bdi>{}</bdi></span>", name, escaped(text));
}

std::string legend_of(const ReportInput& input, std::size_t trace) {
    std::string runs;
    std::size_t number = 0;
    for (const ReportedRun& run : input.runs) {
        if (run.trace != trace)
            continue;
        const std::uint64_t refused = run.recorded.run.measurement("out_of_memory").whole;
        runs += swatch(
            "key " + run_class(number++),
            fmt::format("reserved{}, at most {}{}",
                        runs_of(input, trace) > 1 ? " by " + run.label : std::string(),
                        format_bytes(reserved_peak(run)),
                        refused > 0 ? ", out of memory " + format_times(refused) : std::string()));
    }
    const std::string_view cached = number > 1 ? "cached pale" : "cached";
    return "<span class=\"legend\">" + runs + swatch("key requested", "requested") +
           swatch(cached,
                  number > 1 ? "baseline: reserved, not allocated" : "reserved, not allocated") +
           swatch("used", "allocated") + swatch("swing", "allocated at times") + "</span>";
}

// Of each trace, the highest of its runs.
std::vector<Bytes> trace_peaks(const ReportInput& input) {
    std::vector<Bytes> peaks(input.traces.size(), 0);
    for (const ReportedRun& run : input.runs)
        peaks[run.trace] = std::max(peaks[run.trace], reserved_peak(run));
    return peaks;
}

// The traces that are drawn, in their order.
std::vector<std::size_t> charted(const ReportInput& input, const std::vector<Bytes>& peaks) {
    std::vector<std::size_t> traces;
    for (std::size_t i = 0; i < peaks.size(); ++i)
        if (peaks[i] > 0 && !input.traces[i].trace->info().is_state())
            traces.push_back(i);
    std::ranges::stable_sort(traces, std::greater(), [&](std::size_t i) { return peaks[i]; });
    traces.resize(std::min(traces.size(), kMostCharts));
    std::ranges::sort(traces);
    return traces;
}

// The upper ends of axes: all the same, so that charts can be compared, unless that would make a
// peak too low to be seen.
std::vector<Bytes> scales(const std::vector<std::size_t>& traces,
                          const std::vector<Bytes>& all_peaks) {
    std::vector<Bytes> peaks;
    for (const std::size_t trace : traces)
        peaks.push_back(all_peaks[trace]);
    const auto [least, most] = std::ranges::minmax(peaks);
    if (least >= most / 4)
        std::ranges::fill(peaks, most);
    return peaks;
}

// The curves as sentences; folded if there are many runs.
std::string sentences_of(const ReportInput& input, std::size_t trace) {
    std::string out;
    for (const ReportedRun& run : input.runs)
        if (run.trace == trace)
            out += fmt::format("<p class=\"words\"><b class=\"untrusted\">{}</b>: {}</p>\n",
                               escaped(run.label), escaped(curve_text(run)));
    if (runs_of(input, trace) <= 2)
        return out;
    return fmt::format("<details><summary>As text</summary>\n{}</details>\n", out);
}

const ReportedRun& first_run(const ReportInput& input, std::size_t trace) {
    return *std::ranges::find(input.runs, trace, &ReportedRun::trace);
}

std::string part(double begin, Bytes bytes, Bytes whole, std::string_view name) {
    if (bytes == 0)
        return {};
    return fmt::format("<rect class=\"{}\" x=\"{:.3f}%\" width=\"{:.3f}%\" height=\"100%\"/>", name,
                       begin, 100 * share_of(bytes, whole));
}

}  // namespace

std::vector<AxisUnit> chart_axes(const History& history) {
    if (history.end(AxisUnit::time) <= 1)
        return {AxisUnit::events};
    if (facts::readable_axis(history) == AxisUnit::events)
        return {AxisUnit::time, AxisUnit::events};
    return {AxisUnit::time};
}

std::string curves_markup(const ReportInput& input) {
    const std::vector<Bytes> peaks = trace_peaks(input);
    const std::vector<std::size_t> traces = charted(input, peaks);
    std::string out = "<section id=\"timeline\" class=\"wide\"><h2>Memory over time</h2>\n";
    if (traces.size() == kMostCharts)
        out += fmt::format("<p>Of {} the {} that peak highest are drawn.</p>\n",
                           format_counted(input.traces.size(), "trace"), kMostCharts);
    const std::vector<Bytes> most = traces.empty() ? std::vector<Bytes>() : scales(traces, peaks);
    const bool small = traces.size() > kManyCharts;
    for (std::size_t i = 0; i < traces.size(); ++i) {
        if (input.cancelled && input.cancelled())
            return {};
        const std::size_t trace = traces[i];
        out += "<figure>\n";
        if (input.traces.size() > 1)
            out +=
                fmt::format("<h3 class=\"untrusted\">{}</h3>\n", escaped(input.traces[trace].name));
        out += fmt::format("<figcaption>{}</figcaption>\n", legend_of(input, trace));
        const std::vector<AxisUnit> axes = chart_axes(*first_run(input, trace).recorded.history);
        for (const AxisUnit axis : axes) {
            const std::string_view by = axis == AxisUnit::time ? "time" : "events";
            if (axes.size() > 1)
                out += fmt::format("<p class=\"axis\">{}</p>\n",
                                   axis == AxisUnit::time
                                       ? "Over time:"
                                       : "Event by event, since time makes the peaks too narrow:");
            out += RunChart(input, trace, axis, most[i], small)
                       .markup(fmt::format("Memory of {} over {}; the text below describes it",
                                           input.traces[trace].name, by));
        }
        out += sentences_of(input, trace) + "</figure>\n";
    }
    for (std::size_t trace = 0; trace < input.traces.size(); ++trace)
        if (input.traces[trace].trace->info().is_state())
            out += fmt::format(
                "<p><b class=\"untrusted\">{}</b> is the state at one moment, without a history: "
                "there is no curve.</p>\n",
                escaped(input.traces[trace].name));
        else if (runs_of(input, trace) > 0 && reserved_peak(first_run(input, trace)) == 0)
            out += sentences_of(input, trace);
    return out + "</section>\n";
}

std::string parts_markup(const ReportInput& input) {
    Bytes whole = 0;
    for (const ReportedRun& run : input.runs)
        whole = std::max(whole, reserved_peak(run));
    if (whole == 0)
        return {};
    std::string out = "<section id=\"parts\" class=\"wide\"><h2>What the peak consists of</h2>\n";
    const std::atomic<bool> never = false;
    for (const ReportedRun& run : input.runs) {
        const History& history = *run.recorded.history;
        if (reserved_peak(run) == 0)
            continue;
        const EventIndex event = fullest_event(history);
        const facts::MemoryParts parts = facts::memory_parts(history, event, never);

        struct Part {
            std::string_view style;
            std::string_view name;
            Bytes bytes;
        };

        const Part all[] = {{"used", "in use", parts.in_use},
                            {"rounding", "rounding", parts.rounding},
                            {"waiting", "pending free", parts.waiting},
                            {"fragmentation", "fragmentation", parts.fragmentation},
                            {"cached", "cached", parts.cached}};
        std::string bar;
        std::string legend;
        double begin = 0;
        for (const Part& each : all) {
            bar += part(begin, each.bytes, whole, each.style);
            begin += 100 * share_of(each.bytes, whole);
            if (each.bytes > 0)
                legend +=
                    swatch(each.style, fmt::format("{}: {}", each.name, format_bytes(each.bytes)));
        }
        out += fmt::format(
            "<figure><figcaption><b class=\"untrusted\">{0}</b> {1} reserved at event {2}"
            "</figcaption>\n<svg class=\"parts\" height=\"22\" role=\"img\" aria-label=\"{0}: what "
            "is reserved at the peak\">{3}</svg>\n<p class=\"legend\">{4}</p></figure>\n",
            escaped(run.label), format_bytes(parts.reserved), format_count(event), bar, legend);
    }
    out +=
        "<p class=\"words\">Fragmentation is free memory in segments that are partly in use. "
        "Cached memory is free in whole segments. Memory that is pending free was freed, but work "
        "on other streams may still use it.</p>\n";
    return out + "</section>\n";
}

}  // namespace tidemark::report
