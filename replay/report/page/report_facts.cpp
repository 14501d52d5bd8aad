// Answer, figures and comparison as text.
#include "replay/report/page/report_facts.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/spread/spread_text.h"
#include "replay/metrics/devices.h"
#include "replay/report/advise/advice_verdict.h"
#include "replay/report/bound/offline_text.h"
#include "replay/report/findings/finding_text.h"
#include "replay/report/forms/wording.h"
#include "replay/report/page/change_text.h"
#include "replay/report/runs/ranks_report.h"

namespace tidemark::report {
namespace {

constexpr std::array<std::string_view, 8> kCompared{
    "peak_reserved_bytes",
    "out_of_memory",
    "external_fragmentation_at_peak",
    "mean_reserved_bytes",
    "driver_ns",
    "stall_ns",
    "retries",
    "overhead_ratio",
};

Bytes bytes_of(const ReportedRun& run, std::string_view name) {
    return run.recorded.run.measurement(name).whole;
}

Bytes peak_reserved(const ReportedRun& run) {
    return bytes_of(run, "peak_reserved_bytes");
}

std::uint64_t refused(const ReportedRun& run) {
    return bytes_of(run, "out_of_memory");
}

// The run of the same trace with the fewest requests out of memory, of these the one that peaks
// lowest; null if that is the first run.
const ReportedRun* lowest(const ReportInput& input, const ReportedRun& first) {
    const ReportedRun* best = &first;
    for (const ReportedRun& run : input.runs) {
        if (run.trace != first.trace || refused(run) > refused(*best))
            continue;
        if (refused(run) < refused(*best) || peak_reserved(run) < peak_reserved(*best))
            best = &run;
    }
    return best == &first ? nullptr : best;
}

std::string answer_of(const ReportInput& input, const ReportedRun& run) {
    const Bytes peak = peak_reserved(run);
    const Bytes requested = bytes_of(run, "peak_requested_bytes");
    const ReportedTrace& trace = input.traces[run.trace];
    if (trace.trace->info().is_state())
        return fmt::format(
            "{} is the state at one moment, without a history: {} reserved, {} of "
            "them in use.",
            trace.name, format_bytes(peak), format_bytes(requested));
    std::string text = fmt::format("{} under {} ", trace.name, run.recorded.run.policy_name);
    if (peak == 0)
        return text + "reserved no memory.";
    text += fmt::format("peaked at {}", format_bytes(peak));
    if (peak > requested)
        text += fmt::format(", {} more than the program ever requested at once ({} of the peak)",
                            format_bytes(peak - requested),
                            format_percent(share_of(peak - requested, peak)));
    text += ".";
    if (refused(run) > 0)
        text += fmt::format(" It ran out of memory {}.", format_times(refused(run)));
    const ReportedRun* best = lowest(input, run);
    if (best != nullptr && peak_reserved(*best) < peak)
        text += fmt::format(" Under {} it would have been {}, {} less.", best->label,
                            format_bytes(peak_reserved(*best)),
                            format_percent(1 - share_of(peak_reserved(*best), peak)));
    else if (best != nullptr)
        text += fmt::format(" Under {} it would {}.", best->label,
                            refused(*best) == 0 ? "never have run out of memory"
                                                : "have run out of memory less often");
    return text;
}

// The first runs of two traces.
std::string comparison_of(const ReportInput& input, const ReportedRun& now,
                          const ReportedRun& before) {
    return comparison_sentence({input.traces[now.trace].name, now.recorded.run.measurements},
                               {input.traces[before.trace].name, before.recorded.run.measurements});
}

}  // namespace

std::span<const std::string_view> compared_figures() {
    return kCompared;
}

std::string figure_name(const Measurement& measurement) {
    std::string name(measurement.name);
    for (const std::string_view unit : {"_bytes", "_ns"})
        if (name.ends_with(unit))
            name.resize(name.size() - unit.size());
    if (name == "external_fragmentation_at_peak")
        return "unused at peak";
    if (name == "overhead_ratio")
        return "peak / requested";
    if (name == "driver" || name == "stall")
        name += " time";
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

const ReportedRun& baseline_of(const ReportInput& input, const ReportedRun& run) {
    const ReportedRun& first = *std::ranges::find_if(
        input.runs, [&run](const ReportedRun& each) { return each.trace == run.trace; });
    return &first == &run && !input.ranks ? input.runs.front() : first;
}

std::string answer(const ReportInput& input) {
    std::string text;
    for (std::size_t trace = 0; trace < input.traces.size(); ++trace) {
        const auto first = std::ranges::find_if(
            input.runs, [trace](const ReportedRun& run) { return run.trace == trace; });
        if (first == input.runs.end())
            continue;
        const std::optional<Advice>& advice = input.traces[trace].advice;
        const std::string verdict =
            advice ? advice_verdict(input.traces[trace].trace->info(), *advice) : std::string();
        text += text.empty() ? "" : " ";
        text += verdict + (verdict.empty() ? "" : " ") + answer_of(input, *first);
        const std::vector<findings::Finding> found = findings_of(input, trace);
        if (verdict.empty() && !found.empty() && found.front().severity != findings::Severity::note)
            text += fmt::format(" Look first at: {}.", finding_text(found.front()).title);
    }
    if (input.ranks)
        return text + fmt::format(" {}.", ranks_sentence(*input.ranks));
    for (const ReportedRun& run : input.runs)
        if (run.trace != input.runs.front().trace &&
            &baseline_of(input, run) == &input.runs.front())
            text += fmt::format(" {}.", comparison_of(input, run, input.runs.front()));
    return text;
}

std::vector<Fact> run_facts(const ReportInput& input, const ReportedRun& run) {
    const TraceInfo& info = input.traces[run.trace].trace->info();
    const Bytes peak = peak_reserved(run);
    const Bytes requested = bytes_of(run, "peak_requested_bytes");
    std::vector<Fact> list;
    list.push_back(
        {"Peak reserved", format_bytes(peak),
         fmt::format("at event {}", format_count(bytes_of(run, "peak_reserved_event")))});
    if (const auto devices = device_peaks(run.recorded.run.measurements); devices.size() > 1) {
        std::string each;
        for (const DevicePeaks& device : devices)
            each += (each.empty() ? "" : ", ") + format_bytes(device.reserved);
        list.push_back(
            {"By device", std::move(each), "peak reserved of each; the other figures are sums"});
    }
    if (const auto& spread = run.recorded.run.peak_spread)
        list.push_back({"From run to run", range_text(*spread),
                        fmt::format("peak reserved, in 90 % of {}, each as another run "
                                    "might go",
                                    format_counted(spread->runs, "replay"))});
    list.push_back({"Requested", format_bytes(requested), "by the program, at its own peak"});
    if (const auto& offline = input.traces[run.trace].offline; offline && !info.is_state())
        list.push_back({"Offline bound", offline_figure(*offline), offline_meaning(*offline)});
    list.push_back(
        {"Not requested", format_bytes(peak - std::min(peak, requested)),
         format_percent(share_of(peak - std::min(peak, requested), peak)) + " of the peak"});
    list.push_back({"Free at that peak",
                    figure_text(run.recorded.run.measurement("external_fragmentation_at_peak")),
                    fmt::format("of the reserved bytes, where most is in use: event {}",
                                format_count(bytes_of(run, "peak_fullest_event")))});
    list.push_back(
        {"Out of memory", format_count(refused(run)),
         fmt::format("times, {}", format_counted(bytes_of(run, "retries"), "retry", "retries"))});
    list.push_back({"Driver time", figure_text(run.recorded.run.measurement("driver_ns")),
                    format_counted(bytes_of(run, "device_calls"), "device call")});
    list.push_back({"Events", format_count(info.event_count),
                    info.duration > 0 ? "in " + format_duration(info.duration)
                                      : std::string("without times")});
    return list;
}

std::string curve_text(const ReportedRun& run) {
    const History& history = *run.recorded.history;
    const std::size_t events = history.counts().events;
    if (events == 0)
        return "There are no events.";
    const auto last = static_cast<EventIndex>(events - 1);
    const EventIndex peak = history.peak_event(Series::reserved);
    const SeriesValues at_peak = history.values(peak);
    const SeriesValues at_end = history.values(last);
    std::string text = fmt::format(
        "Reserved memory starts at {}, peaks at {} ({} of the way, event {}, with {} allocated and "
        "{} requested) and ends at {}, with {} allocated.",
        format_bytes(history.values(0)[Series::reserved]), format_bytes(at_peak[Series::reserved]),
        format_percent(share_of(peak, std::max<EventIndex>(last, 1))), format_count(peak),
        format_bytes(at_peak[Series::allocated]), format_bytes(at_peak[Series::requested]),
        format_bytes(at_end[Series::reserved]), format_bytes(at_end[Series::allocated]));
    text += " In each tenth of the run, it peaked at";
    std::vector<SeriesColumn> tenths(10);
    const AxisUnit unit = history.time(last) > history.time(0) ? AxisUnit::time : AxisUnit::events;
    history.series(unit, history.position(unit, 0), history.end(unit), tenths);
    for (std::size_t i = 0; i < tenths.size(); ++i)
        text +=
            fmt::format("{} {}", i == 0 ? "" : ",", format_bytes(tenths[i].max[Series::reserved]));
    return text + ".";
}

}  // namespace tidemark::report
