// fit's table, where the answer's run stops, and the same as JSON.
#include "replay/report/advise/fit_report.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/spread/spread_text.h"
#include "replay/report/bound/offline_text.h"
#include "replay/report/findings/out_of_memory_report.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/largest_steps_text.h"
#include "replay/report/forms/wording.h"
#include "replay/report/runs/text.h"

namespace tidemark {
namespace {

using namespace report;

std::string size_or_none(Bytes bytes) {
    return bytes == 0 ? "none" : format_bytes(bytes);
}

std::string label_of(const FitRow& row) {
    return printable(row.policy) + (row.recorded ? " (as recorded)" : "");
}

// "on a card with 80.0 GiB, 768 MiB of them for the CUDA context and libraries".
std::string conditions(const FitReport& report) {
    const FitQuestion& question = report.question;
    if (question.memory > 0)
        return "on a card with " + card_text(question.memory, question.overhead.value_or(0));
    if (!report.limit_text.empty())
        return report.limit_text;
    if (question.limit.value_or(0) > 0)
        return fmt::format("limited to {} of reserved memory", format_bytes(*question.limit));
    return "how much memory it needs";
}

// Some runs survive and others don't.
bool differs_from_run_to_run(const FitRow& row) {
    return row.granted_runs && *row.granted_runs != (row.survives ? row.peak_spread->runs : 0);
}

std::string granted_text(const FitRow& row) {
    return fmt::format("in {} of {} runs", format_count(*row.granted_runs),
                       format_count(row.peak_spread->runs));
}

// The third answer is for a recorded run that ran out of memory itself.
std::string survival(const FitRow& row) {
    const std::string answer = row.survives ? "yes" : row.no_worse ? "no new failures" : "no";
    return differs_from_run_to_run(row) ? fmt::format("{}, {}", answer, granted_text(row)) : answer;
}

Table table_of(const FitReport& report) {
    std::vector<TableColumn> columns{{"policy", Align::left}};
    const bool has_probes = report.recorded_refusals > 0;
    if (report.requested())
        for (const char* title : {"survives", "out of memory"})
            columns.push_back({title});
    columns.push_back({"smallest card"});
    if (has_probes)
        columns.push_back({"no worse than recorded"});
    for (const char* title : {"smallest limit", "peak without a limit", "allocated", "retries",
                              "retry time", "driver time"})
        columns.push_back({title});
    const bool spread = report.rows[report.answer].peak_spread.has_value();
    if (spread)
        columns.push_back({"peak, run to run"});
    Table table(std::move(columns));
    for (std::size_t i = 0; i < report.rows.size(); ++i) {
        const FitRow& row = report.rows[i];
        const FitCosts& costs = report.requested() ? row.costs : row.at_smallest;
        std::vector<TableCell> cells{{label_of(row), i == report.answer}};
        if (report.requested()) {
            cells.push_back({survival(row)});
            cells.push_back({format_count(row.out_of_memory)});
        }
        cells.push_back({size_or_none(row.smallest_memory)});
        if (has_probes)
            cells.push_back({size_or_none(row.smallest_memory_no_worse)});
        for (const std::string& text :
             {size_or_none(row.smallest_limit), format_bytes(row.unlimited.peak.reserved),
              format_bytes(row.unlimited.peak.allocated), format_count(costs.retries),
              format_duration(costs.flush_time), format_duration(costs.driver_time)})
            cells.push_back({text});
        if (spread)
            cells.push_back({row.peak_spread ? range_text(*row.peak_spread) : ""});
        table.add(std::move(cells));
    }
    return table;
}

// "at event 61,234, in step #7: a request for 1.20 GiB ran out of memory with ...".
std::string death_text(const Death& death) {
    const Refusal& refusal = death.refusal;
    const Usage& usage = refusal.usage;
    std::string text = fmt::format(
        "at event {}{}: a request for {} ran out of memory ({}) with {} reserved, {} of them "
        "allocated",
        format_count(refusal.event), position_text(death.position), format_bytes(refusal.what.size),
        to_text(refusal.why.cause), format_bytes(usage.reserved), format_bytes(usage.allocated));
    if (usage.reserved > usage.active)
        text += fmt::format("; {} was free, the largest piece {}",
                            format_bytes(usage.reserved - usage.active),
                            piece_text(refusal.largest_free, refusal.what.size));
    text += ".\n";
    if (death.refused_in_all > 1)
        text += fmt::format("If it had gone on, {} would have run out of memory in total.\n",
                            format_counted(death.refused_in_all, "request"));
    return text + report::stack_text(death.position, 4);
}

// "a card with 12.7 GiB or more, or under a limit of 11.9 GiB".
std::string sizes_text(Bytes memory, Bytes limit) {
    std::string text = fmt::format("a card with {} or more", format_bytes(memory));
    if (limit > 0)
        text += fmt::format(", or under a limit of {}", format_bytes(limit));
    return text;
}

std::string answer_text(const FitReport& report) {
    const FitRow& row = report.rows[report.answer];
    std::string text;
    if (report.requested())
        text = fmt::format("{}: {} {}.\n", row.survives ? "Yes" : "No", label_of(row),
                           row.survives   ? "survives"
                           : row.no_worse ? fmt::format("runs out of memory {}, but no worse than "
                                                        "recorded: every request that succeeded "
                                                        "then succeeds here",
                                                        format_times(row.out_of_memory))
                                          : "runs out of memory");
    if (differs_from_run_to_run(row))
        text += fmt::format(
            "That holds for the recorded run. Other runs may differ: nothing runs out of memory "
            "{}.\n",
            granted_text(row));
    if (row.died_at)
        text += fmt::format("{} {}", row.no_worse ? "First" : "It dies", death_text(*row.died_at));
    const bool has_probes = report.recorded_refusals > 0;
    if (has_probes && row.smallest_memory_no_worse > 0)
        text +=
            fmt::format("It does no worse than recorded on {}{}.\n",
                        sizes_text(row.smallest_memory_no_worse, row.smallest_limit_no_worse),
                        row.smallest_memory == 0 ? "; at least one request fits on no card" : "");
    if (row.smallest_memory > 0)
        text += fmt::format("Nothing runs out of memory on {} (searched in steps of {}).\n",
                            sizes_text(row.smallest_memory, row.smallest_limit),
                            format_bytes(kFitResolution));
    return text;
}

Json death_of(const std::optional<Death>& death) {
    if (!death)
        return {};
    const Refusal& refusal = death->refusal;
    const Json position = position_json(death->position);
    const auto reserved = static_cast<double>(refusal.usage.reserved);
    const auto unused = static_cast<double>(refusal.usage.reserved - refusal.usage.active);
    return {{"event", refusal.event},
            {"device", refusal.what.device},
            {"stream", to_integer(refusal.what.stream)},
            {"bytes", refusal.what.size},
            {"cause", to_text(refusal.why.cause)},
            {"usage", usage_of(refusal.usage)},
            {"largest_free_bytes", refusal.largest_free},
            {"unused_ratio", reserved > 0 ? unused / reserved : 0.0},
            {"inside", position["inside"]},
            {"after", position["after"]},
            {"stack", position["stack"]},
            {"operator", position["operator"]},
            {"tag", position["tag"]},
            {"out_of_memory_in_all", death->refused_in_all},
            {"refused_in_all", death->refused_in_all}};
}

Json costs_of(const FitCosts& costs) {
    return {{"retries", costs.retries},
            {"retry_ns", costs.flush_time},
            {"flush_ns", costs.flush_time},
            {"driver_ns", costs.driver_time},
            {"stall_ns", costs.stall_time}};
}

Json row_of(const FitRow& row) {
    return {{"policy", row.policy},
            {"recorded", row.recorded},
            {"survives", row.survives},
            {"no_worse_than_recorded", row.no_worse},
            {"out_of_memory", row.out_of_memory},
            {"smallest_bytes", or_null(row.smallest_memory)},
            {"smallest_limit_bytes", or_null(row.smallest_limit)},
            {"smallest_bytes_no_worse", or_null(row.smallest_memory_no_worse)},
            {"smallest_limit_bytes_no_worse", or_null(row.smallest_limit_no_worse)},
            {"peak_reserved_bytes", row.requested.peak.reserved},
            {"peak_allocated_bytes", row.requested.peak.allocated},
            {"peak", usage_of(row.unlimited.peak)},
            {"peak_reserved_spread", spread_of(row.peak_spread)},
            {"granted_runs", or_null(row.granted_runs)},
            {"peak_requested_bytes", row.unlimited.peak_requested},
            {"peak_event", row.unlimited.peak_event},
            {"devices", device_peaks_of(row.unlimited.device_peaks)},
            {"costs", costs_of(row.costs)},
            {"costs_at_smallest", costs_of(row.at_smallest)},
            {"died_at", death_of(row.died_at)},
            {"replays", row.replays}};
}

}  // namespace

std::string fit_text(const std::string& name, const TraceInfo& info, const FitReport& report,
                     Emphasis emphasis) {
    std::string text = fmt::format("{}: {}, {}\n\n{}\n{}", printable(name),
                                   format_counted(info.event_count, "event"), conditions(report),
                                   table_of(report).ruled(emphasis), answer_text(report));
    text += fmt::format(
        "Peaks are without a limit; retries (the allocator releases cached memory and asks the "
        "driver again) are counted {}.\n",
        report.requested() ? "under the given memory or limit" : "on the smallest card");
    if (report.question.memory == 0)
        text += fmt::format("Card sizes include {} for {} (--overhead).\n",
                            format_bytes(report.question.overhead.value_or(0)),
                            others_text(report.question.overhead.value_or(0)));
    text += fmt::format("Offline bound: {}, {}.\n", offline_figure(report.offline),
                        offline_meaning(report.offline));
    text += largest_steps_text(report.largest_steps);
    if (report.interrupted)
        text += "note: interrupted: rows are missing\n";
    for (const std::string& note : report.notes)
        text += fmt::format("note: {}\n", printable(note));
    return text + trace_notes(info);
}

std::string fit_json(const std::string& name, const Trace& trace, const FitReport& report,
                     const Provenance& provenance) {
    const FitRow& answer = report.rows[report.answer];
    const TraceInfo& info = trace.info();
    return text_of(
        {{"trace", name},
         {"events", info.event_count},
         {"memory_bytes", or_null(report.question.memory)},
         {"overhead_bytes", report.question.overhead.value_or(0)},
         {"limit_bytes", or_null(report.question.limit.value_or(0))},
         {"limit_source", report.limit_text},
         {"resolution_bytes", kFitResolution},
         {"profile", report.question.profile},
         {"policy", answer.policy},
         {"survives", report.requested() ? Json(answer.survives) : Json()},
         {"smallest_bytes", or_null(answer.smallest_memory)},
         {"smallest_limit_bytes", or_null(answer.smallest_limit)},
         {"smallest_bytes_no_worse", or_null(answer.smallest_memory_no_worse)},
         {"smallest_limit_bytes_no_worse", or_null(answer.smallest_limit_no_worse)},
         {"no_worse_than_recorded", report.requested() ? Json(answer.no_worse) : Json()},
         {"died_at", death_of(answer.died_at)},
         {"candidates", list_of(report.rows, row_of)},
         {"largest_steps", largest_steps_of(report.largest_steps)},
         {"offline_bound_bytes", or_null(report.offline.packed)},
         {"offline_lower_bytes", report.offline.lower},
         {"recorded_out_of_memory", report.recorded_refusals},
         {"recorded_refusals", report.recorded_refusals},
         {"begins_inside", info.begins_inside},
         {"cut_off", info.cut_off},
         {"interrupted", report.interrupted},
         {"notes", report.notes},
         {"trace_warnings", info.warnings},
         {"provenance", provenance_of(provenance, {{"trace_hash", trace.recorded_hash()},
                                                   {"profile_hash", report.profile_hash}})}});
}

}  // namespace tidemark
