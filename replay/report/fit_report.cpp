// fit's table, the story of the death that the answer is about, and the same as JSON.
#include "replay/report/fit_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/json_values.h"
#include "replay/report/text.h"

namespace tidemark {
namespace {

using namespace report;

constexpr std::size_t kFramesShown = 4;

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
        return fmt::format("on a card with {}, {} of them for the CUDA context and libraries",
                           format_bytes(question.memory), format_bytes(question.overhead));
    if (question.limit > 0)
        return fmt::format("limited to {} of reserved memory", format_bytes(question.limit));
    return "how much memory it needs";
}

Table table_of(const FitReport& report) {
    std::vector<TableColumn> columns{{"policy", Align::left}};
    if (report.asked())
        columns.push_back({"survives"});
    for (const char* title : {"smallest card", "smallest limit", "peak reserved", "peak allocated",
                              "flushes", "their cost", "driver time"})
        columns.push_back({title});
    Table table(std::move(columns));
    for (std::size_t i = 0; i < report.rows.size(); ++i) {
        const FitRow& row = report.rows[i];
        const FitCosts& costs = report.asked() ? row.costs : row.at_smallest;
        std::vector<TableCell> cells{{label_of(row), i == report.answer}};
        if (report.asked())
            cells.push_back({row.survives ? "yes" : "no"});
        for (const std::string& text :
             {size_or_none(row.smallest_memory), size_or_none(row.smallest_limit),
              format_bytes(row.unlimited.peak.reserved), format_bytes(row.unlimited.peak.allocated),
              format_count(costs.retries), format_duration(costs.flush_time),
              format_duration(costs.driver_time)})
            cells.push_back({text});
        table.add(std::move(cells));
    }
    return table;
}

std::string ranges_text(const std::vector<PlaceRange>& ranges) {
    std::string text;
    for (const PlaceRange& range : ranges)
        text += fmt::format("{}{} #{}", text.empty() ? "" : " > ", printable(range.name),
                            format_count(range.number));
    return text;
}

std::string place_text(const EventPlace& place) {
    if (!place.inside.empty())
        return fmt::format(", in {}", ranges_text(place.inside));
    return place.after.empty() ? "" : fmt::format(", after {}", ranges_text(place.after));
}

// "at event 61,234, in step #7: 1.20 GiB refused with ...".
std::string death_text(const Death& death) {
    const Refusal& refusal = death.refusal;
    const Usage& usage = refusal.usage;
    std::string text = fmt::format(
        "at event {}{}: a request of {} was refused ({}) with {} reserved, {} of them allocated",
        format_count(refusal.event), place_text(death.place), format_bytes(refusal.what.size),
        to_text(refusal.why.cause), format_bytes(usage.reserved), format_bytes(usage.allocated));
    if (usage.reserved > usage.active)
        text += fmt::format("; {} were free, the largest piece {}",
                            format_bytes(usage.reserved - usage.active),
                            format_bytes(refusal.largest_free));
    text += ".\n";
    if (death.refused_in_all > 1)
        text += fmt::format("Had it gone on, {} requests would have been refused in all.\n",
                            format_count(death.refused_in_all));
    const std::size_t frames = std::min(death.place.stack.size(), kFramesShown);
    for (std::size_t i = 0; i < frames; ++i)
        text += fmt::format("    {}\n", printable(death.place.stack[i]));
    return text;
}

std::string answer_text(const FitReport& report) {
    const FitRow& row = report.rows[report.answer];
    std::string text;
    if (report.asked())
        text = fmt::format("{}: {} {}.\n", row.survives ? "Yes" : "No", label_of(row),
                           row.survives ? "survives" : "runs out of memory");
    if (row.died_at)
        text += fmt::format("It dies {}", death_text(*row.died_at));
    if (row.smallest_memory > 0)
        text += fmt::format("The smallest card it survives on has {}",
                            format_bytes(row.smallest_memory));
    if (row.smallest_limit > 0)
        text += fmt::format(", the smallest limit is {}", format_bytes(row.smallest_limit));
    if (row.smallest_memory > 0)
        text += fmt::format(" (searched in steps of {}).\n", format_bytes(kFitResolution));
    return text;
}

Json ranges_of(const std::vector<PlaceRange>& ranges) {
    Json list = Json::array();
    for (const PlaceRange& range : ranges)
        list.push_back({{"name", range.name}, {"number", range.number}});
    return list;
}

Json death_of(const std::optional<Death>& death) {
    if (!death)
        return {};
    const Refusal& refusal = death->refusal;
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
            {"inside", ranges_of(death->place.inside)},
            {"after", ranges_of(death->place.after)},
            {"stack", death->place.stack},
            {"tag", death->place.tag},
            {"refused_in_all", death->refused_in_all}};
}

Json bytes_or_null(Bytes bytes) {
    return bytes == 0 ? Json() : Json(bytes);
}

Json costs_of(const FitCosts& costs) {
    return {{"retries", costs.retries},
            {"flush_ns", costs.flush_time},
            {"driver_ns", costs.driver_time},
            {"stall_ns", costs.stall_time}};
}

Json row_of(const FitRow& row) {
    return {{"policy", row.policy},
            {"recorded", row.recorded},
            {"survives", row.survives},
            {"smallest_bytes", bytes_or_null(row.smallest_memory)},
            {"smallest_limit_bytes", bytes_or_null(row.smallest_limit)},
            {"peak", usage_of(row.unlimited.peak)},
            {"peak_requested_bytes", row.unlimited.peak_requested},
            {"peak_event", row.unlimited.peak_event},
            {"costs", costs_of(row.costs)},
            {"costs_at_smallest", costs_of(row.at_smallest)},
            {"died_at", death_of(row.died_at)},
            {"replays", row.replays}};
}

}  // namespace

std::string fit_text(const std::string& name, const TraceInfo& info, const FitReport& report,
                     Emphasis emphasis) {
    std::string text =
        fmt::format("{}: {} events, {}\n\n{}\n{}", printable(name), format_count(info.event_count),
                    conditions(report), table_of(report).ruled(emphasis), answer_text(report));
    text += fmt::format(
        "Peaks are without a limit; flushes (caches emptied to ask again) are counted {}.\n",
        report.asked() ? "up to the end or the death" : "on the smallest card");
    if (report.question.memory == 0)
        text += fmt::format("Cards include {} for the CUDA context and libraries (--overhead).\n",
                            format_bytes(report.question.overhead));
    for (const std::string& note : report.notes)
        text += fmt::format("note: {}\n", printable(note));
    return text + trace_notes(info);
}

std::string fit_json(const std::string& name, const Trace& trace, const FitReport& report,
                     const Provenance& provenance) {
    const FitRow& answer = report.rows[report.answer];
    const TraceInfo& info = trace.info();
    Json candidates = Json::array();
    for (const FitRow& row : report.rows)
        candidates.push_back(row_of(row));
    Json object{{"trace", name},
                {"events", info.event_count},
                {"memory_bytes", bytes_or_null(report.question.memory)},
                {"overhead_bytes", report.question.overhead},
                {"limit_bytes", bytes_or_null(report.question.limit)},
                {"resolution_bytes", kFitResolution},
                {"profile", report.question.profile},
                {"policy", answer.policy},
                {"survives", report.asked() ? Json(answer.survives) : Json()},
                {"smallest_bytes", bytes_or_null(answer.smallest_memory)},
                {"smallest_limit_bytes", bytes_or_null(answer.smallest_limit)},
                {"died_at", death_of(answer.died_at)},
                {"candidates", std::move(candidates)},
                {"recorded_refusals", report.recorded_refusals},
                {"begins_inside", info.begins_inside},
                {"cut_off", info.cut_off},
                {"notes", report.notes},
                {"trace_warnings", info.warnings},
                {"provenance", provenance_of(provenance)}};
    object["provenance"]["trace_hash"] = hash_text(trace.hash());
    object["provenance"]["profile_hash"] = hash_text(report.profile_hash);
    return text_of(object);
}

}  // namespace tidemark
