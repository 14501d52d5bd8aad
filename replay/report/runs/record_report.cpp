// Sentences and keys.
#include "replay/report/runs/record_report.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"

namespace tidemark {
namespace {

using report::Json;

std::string lived_text(std::uint64_t count, Bytes bytes, std::string_view until) {
    return count == 0 ? ""
                      : fmt::format("; {} ({}) {}", format_counted(count, "allocation"),
                                    format_bytes(bytes), until);
}

void add_uses(const TraceSummary& summary, std::vector<std::string>& lines) {
    const UseCounts& uses = summary.uses;
    if (uses.launches == 0)
        return;
    lines.push_back(
        fmt::format("  uses: {}, by {}; {} of the uses are possible, not certain",
                    format_counted(uses.uses, "use"),
                    format_counted(uses.launches, "launch or copy", "launches and copies"),
                    format_count(uses.possible)));
    if (uses.executions != 0)
        lines.push_back(fmt::format(
            "  the GPU ran {}, {} summed",
            format_counted(uses.executions, "kernel, copy or fill", "kernels, copies and fills"),
            format_duration(uses.execution_time)));
    if (uses.unknown_launches != 0)
        lines.push_back(
            fmt::format("  {} of graphs, or of kernels whose arguments aren't known: what these "
                        "use is missing",
                        format_counted(uses.unknown_launches, "launch", "launches")));
}

void add_lines(const RecordedCalls& calls, std::vector<std::string>& lines) {
    const TraceSummary& summary = calls.summary;
    for (std::size_t i = 0; i < summary.devices.size(); ++i) {
        const DeviceSummary& device = summary.devices[i];
        if (device.allocations != 0)
            lines.push_back(fmt::format("  {}: {}, at most {} at once", calls.info.devices[i].name,
                                        format_counted(device.allocations, "allocation"),
                                        format_bytes(device.requested.value)));
    }
    if (summary.out_of_memory != 0)
        lines.push_back(
            fmt::format("  out of memory: {}", format_counted(summary.out_of_memory, "request")));
    add_uses(summary, lines);
    for (const std::string& warning : calls.info.warnings)
        lines.push_back("  " + warning);
}

Json process_json(const RecordedProcess& process) {
    Json json{{"process", process.process},
              {"running", process.running},
              {"problem", report::or_null(process.problem)},
              {"untimed", report::or_null(process.untimed)},
              {"recording", report::or_null(process.recording)}};
    const RecordedCalls nothing;
    const RecordedCalls& calls = process.calls ? *process.calls : nothing;
    json["events"] = calls.summary.events;
    Json kinds = Json::object();
    for (const KindCount& each : calls.summary.kinds)
        kinds[std::string(to_text(each.kind))] = each.count;
    json["kinds"] = kinds;
    json["devices"] = Json::array();
    for (std::size_t i = 0; i < calls.summary.devices.size(); ++i)
        json["devices"].push_back(
            {{"name", calls.info.devices[i].name},
             {"allocations", calls.summary.devices[i].allocations},
             {"peak_requested_bytes", calls.summary.devices[i].requested.value}});
    json["out_of_memory"] = calls.summary.out_of_memory;
    report::add_uses(json, calls.summary.uses);
    json["range_names"] = calls.summary.range_names;
    json["never_freed"] = calls.summary.never_freed;
    json["never_freed_bytes"] = calls.summary.never_freed_bytes;
    json["ended_with_context"] = calls.ended_with_context;
    json["ended_with_context_bytes"] = calls.ended_with_context_bytes;
    json["warnings"] = calls.info.warnings;
    return json;
}

void add_lines(const AttachedCounts& counts, std::vector<std::string>& lines) {
    const auto say = [&lines](std::uint64_t count, std::string_view what, std::string_view means) {
        if (count != 0)
            lines.push_back(fmt::format("  {}{}", format_counted(count, what), means));
    };
    lines.emplace_back("  allocations from before the recording are unknown");
    say(counts.unknown_frees, "free", " of these, without an event");
    say(counts.missed_frees, "free", " noticed only when the address was allocated again");
    say(counts.unknown_devices, "allocation", " on GPUs that are unknown here, without an event");
    say(counts.lost, "event",
        " lost: the process was faster than its recorder, or they could not be "
        "written");
}

Json json_of(const AttachedCounts& counts) {
    return {{"unknown_frees", counts.unknown_frees},
            {"missed_frees", counts.missed_frees},
            {"unknown_devices", counts.unknown_devices},
            {"lost_events", counts.lost}};
}

}  // namespace

std::vector<std::string> record_lines(const ProgramRecord& run) {
    std::vector<std::string> lines;
    if (run.processes.empty())
        lines.push_back(fmt::format(
            "nothing was recorded: no process of {} initialized CUDA with the recorder. It "
            "doesn't use CUDA, runs with another user's rights, or clears its environment",
            run.program));
    for (const RecordedProcess& process : run.processes) {
        const std::string name = fmt::format("process {}", process.process);
        if (!process.problem.empty()) {
            lines.push_back(fmt::format("{} was not recorded: {}", name, process.problem));
        } else if (process.recording.empty()) {
            lines.push_back(name + " initialized CUDA and allocated no memory");
        } else if (process.calls) {
            const TraceSummary& summary = process.calls->summary;
            lines.push_back(fmt::format(
                "{}: {} in {}{}{}{}", name, format_counted(summary.events, "event"),
                process.recording, process.running ? "; it is still running" : "",
                lived_text(summary.never_freed, summary.never_freed_bytes,
                           process.running ? "are not freed yet" : "never freed"),
                lived_text(process.calls->ended_with_context,
                           process.calls->ended_with_context_bytes, "ended with their context")));
            add_lines(*process.calls, lines);
            if (!process.untimed.empty())
                lines.push_back("  launches have the times of their calls, not the GPU's: " +
                                process.untimed);
        }
    }
    if (run.attached)
        add_lines(*run.attached, lines);
    return lines;
}

std::string record_json(const ProgramRecord& run, const Provenance& provenance) {
    return report::text_of({{"program", run.program},
                            {"program_exit_code", run.attached ? Json() : Json(run.exit_code)},
                            {"attached", run.attached ? json_of(*run.attached) : Json()},
                            {"processes", report::list_of(run.processes, process_json)},
                            {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
