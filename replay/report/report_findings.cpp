// Findings: what came of the runs, and what advise says about the first, each with what to do.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/advise_report.h"
#include "replay/report/report_facts.h"

namespace tidemark::report {
namespace {

std::string share(Bytes part, Bytes whole) {
    return whole == 0 ? "0 %"
                      : fmt::format("{:.1f} %",
                                    100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void add_refusals(const ReportedRun& run, std::vector<ReportFinding>& list) {
    const std::uint64_t count = run.recorded.run.measurement("out_of_memory").whole;
    if (count == 0)
        return;
    std::string detail = fmt::format("Under {} {} {} refused.", run.label, format_count(count),
                                     count == 1 ? "request was" : "requests were");
    if (!run.recorded.run.refusals.empty()) {
        const Refusal& first = run.recorded.run.refusals.front();
        detail += fmt::format(
            " First at event {}: {} were asked for, {} were reserved, {} of that in use; the "
            "largest free piece was {}.",
            format_count(first.event), format_bytes(first.what.size),
            format_bytes(first.usage.reserved), format_bytes(first.usage.allocated),
            format_bytes(first.largest_free));
    }
    list.push_back({Weight::problem, "out of memory under " + run.label, std::move(detail)});
}

void add_settings(const Advice& advice, std::vector<ReportFinding>& list) {
    const SearchResult& search = advice.search;
    if (!search.improves)
        return;
    const Bytes before = search.before.result.peak.reserved;
    const Bytes best = search.best.result.peak.reserved;
    const std::string conf = torch_conf(search.best.policy);
    std::string title = fmt::format("another setting peaks at {}", format_bytes(best));
    if (best < before)
        title += fmt::format(", {} less", share(before - best, before));
    std::string detail = fmt::format("{} settings of PyTorch's allocator were replayed. This one ",
                                     format_count(search.trials));
    const std::uint64_t refused = search.before.result.refusals();
    if (refused > 0)
        detail += fmt::format("is refused memory {} times instead of {}, and ",
                              format_count(search.best.result.refusals()), format_count(refused));
    detail += fmt::format("peaks at {} instead of {}; driver and waits take {} instead of {}.",
                          format_bytes(best), format_bytes(before),
                          format_duration(search.best.device_time()),
                          format_duration(search.before.device_time()));
    list.push_back({Weight::warning, std::move(title), std::move(detail), export_line(conf)});
}

void add_gaps(const Advice& advice, std::vector<ReportFinding>& list) {
    const MemoryUse& use = advice.use;
    if (use.reserved == 0)
        return;
    const Bytes idle = use.fragmentation + use.unused;
    if (idle * 20 < use.reserved)
        return;
    std::string detail = fmt::format(
        "Even when most of it was in use, {} lay free in segments of which a part was in use, {} "
        "in "
        "whole segments.",
        format_bytes(use.fragmentation), format_bytes(use.unused));
    const Gaps& gaps = advice.gaps;
    if (gaps.asked > 0 && gaps.free > 0)
        detail += fmt::format(
            " It had to grow at event {} for a request of {} although {} lay free: {} gaps could "
            "have served such a request, the largest {}.",
            format_count(advice.picture.growth.event), format_bytes(gaps.asked),
            format_bytes(gaps.free), format_count(gaps.count), format_bytes(gaps.largest));
    list.push_back(
        {idle * 5 >= use.reserved ? Weight::problem : Weight::warning,
         fmt::format("{} of the reserved peak was never needed", share(idle, use.reserved)),
         std::move(detail)});
}

void add_pins(const TraceInfo& info, const Advice& advice, std::vector<ReportFinding>& list) {
    for (const Pin& pin : advice.pins) {
        if (advice.use.reserved == 0 || pin.free * 50 < advice.use.reserved)
            continue;
        std::string until = "to the end of the trace";
        if (pin.ends != kNotInTrace)
            until = fmt::format("to event {}", format_count(pin.ends));
        if (pin.ends != kNotInTrace && info.duration > 0)
            until += ", " + format_duration(pin.end_time - pin.born_time);
        std::string title = fmt::format("{} are pinned by blocks", format_bytes(pin.free));
        if (!pin.place.empty())
            title += fmt::format(" of {}", pin.place);
        list.push_back(
            {Weight::warning, std::move(title),
             fmt::format("{} {} cannot be given back or joined, because {} of theirs ({} in all) "
                         "stay from event {} {}. Allocate what stays long before what comes and "
                         "goes, or let go of it earlier.",
                         format_count(pin.segments), advice.paged ? "pages" : "segments",
                         format_count(pin.blocks), format_bytes(pin.block_bytes),
                         format_count(pin.born), until)});
    }
}

void add_rounding(const Advice& advice, std::vector<ReportFinding>& list) {
    if (advice.use.reserved == 0 || advice.use.rounding * 20 < advice.use.reserved)
        return;
    list.push_back({Weight::warning,
                    fmt::format("rounding takes {}", format_bytes(advice.use.rounding)),
                    fmt::format("{} of the peak is what blocks have beyond what was asked for.",
                                share(advice.use.rounding, advice.use.reserved))});
}

void add_remarks(const ReportedTrace& trace, std::vector<ReportFinding>& list) {
    if (trace.advice) {
        for (const std::string& warning : trace.advice->warnings)
            list.push_back({Weight::warning, warning, {}});
        for (const std::string& note : trace.advice->notes)
            list.push_back({Weight::note, note, {}});
    }
    for (const std::string& warning : trace.trace->info().warnings)
        list.push_back({Weight::note, warning, {}});
    if (trace.trace->info().cut_off)
        list.push_back({Weight::warning, "the recording ends early: what was whole is shown", {}});
}

}  // namespace

std::vector<ReportFinding> findings(const ReportInput& input, std::size_t trace) {
    const ReportedTrace& reported = input.traces[trace];
    std::vector<ReportFinding> list;
    for (const ReportedRun& run : input.runs)
        if (run.trace == trace)
            add_refusals(run, list);
    if (reported.advice) {
        add_gaps(*reported.advice, list);
        add_settings(*reported.advice, list);
        add_pins(reported.trace->info(), *reported.advice, list);
        add_rounding(*reported.advice, list);
    }
    add_remarks(reported, list);
    for (const ReportedRun& run : input.runs)
        if (run.trace == trace)
            for (const std::string& warning : run.recorded.run.warnings)
                list.push_back({Weight::note, run.label + ": " + warning, {}});
    std::ranges::stable_sort(list, [](const ReportFinding& a, const ReportFinding& b) {
        return static_cast<int>(a.weight) > static_cast<int>(b.weight);
    });
    return list;
}

}  // namespace tidemark::report
