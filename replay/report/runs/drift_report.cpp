// Iterations, and for each thing that is compared the first event that differs.
#include "replay/report/runs/drift_report.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using report::Json;
using report::list_of;
using report::or_null;

std::string event_text(const std::optional<DriftEvent>& event, DriftAspect aspect) {
    if (!event)
        return "no such event";
    if (aspect == DriftAspect::addresses)
        return fmt::format("{} at 0x{:x}, event {}", format_bytes(event->size), event->address,
                           format_count(event->event));
    std::string what = "allocate";
    if (event->kind == EventKind::out_of_memory)
        what = "out of memory";
    else if (event->kind == EventKind::free)
        what = "free";
    return fmt::format("{} {} on stream {}, event {}", what, format_bytes(event->size),
                       to_integer(event->stream), format_count(event->event));
}

std::string difference_text(const AspectDrift& drift) {
    if (!drift.known)
        return "not recorded";
    if (!drift.difference)
        return "none";
    return fmt::format("in iteration {}: {}; before: {}", format_count(drift.difference->iteration),
                       event_text(drift.difference->now, drift.aspect),
                       event_text(drift.difference->before, drift.aspect));
}

std::string alike_text(const AspectDrift& drift) {
    if (!drift.known)
        return "";
    if (!drift.alike_from)
        return "no two";
    return fmt::format("{}, from {} on", format_count(drift.alike),
                       format_count(*drift.alike_from));
}

Json drift_event_of(const std::optional<DriftEvent>& event) {
    if (!event)
        return {};
    return {{"event", event->event},   {"kind", to_text(event->kind)},
            {"bytes", event->size},    {"stream", to_integer(event->stream)},
            {"device", event->device}, {"address", or_null(event->address)}};
}

Json aspect_of(const AspectDrift& drift) {
    Json difference;
    if (drift.difference)
        difference = {{"iteration", drift.difference->iteration},
                      {"now", drift_event_of(drift.difference->now)},
                      {"before", drift_event_of(drift.difference->before)}};
    return {{"aspect", to_text(drift.aspect)},
            {"known", drift.known},
            {"alike", drift.alike},
            {"alike_from", or_null(drift.alike_from)},
            {"difference", difference}};
}

}  // namespace

std::string drift_text(const std::string& name, const DriftReport& report) {
    if (report.iterations == 0)
        return fmt::format(
            "{}: no iterations: no ranges name steps, and the requests don't repeat\n",
            printable(name));
    std::string text = fmt::format(
        "{}: {}, {}, of {} (median)\n\n", printable(name),
        format_counted(report.iterations, "iteration"),
        report.steps.empty() ? fmt::format("found in the requests from event {} to {}",
                                           format_count(report.begin), format_count(report.end))
                             : fmt::format("by the ranges '{}'", one_line(report.steps, 60)),
        format_counted(report.requests, "request"));
    Table table({{"", Align::left},
                 {"same as the one before", Align::left},
                 {"first difference", Align::left}});
    for (const AspectDrift& each : report.aspects)
        table.row(std::string(to_text(each.aspect)), alike_text(each), difference_text(each));
    text += table.ruled(Emphasis::none);
    return text + (report.periodic() ? "\nPeriodic: nothing drifts.\n" : "");
}

std::string drift_json(const std::string& name, const Trace& trace, const DriftReport& report,
                       const Provenance& provenance) {
    return report::text_of(
        {{"trace", name},
         {"steps", report.steps},
         {"iterations", report.iterations},
         {"first_event", report.begin},
         {"last_event", report.end},
         {"requests", report.requests},
         {"periodic", report.periodic()},
         {"aspects", list_of(report.aspects, aspect_of)},
         {"provenance",
          report::provenance_of(provenance, {{"trace_hash", trace.recorded_hash()}})}});
}

}  // namespace tidemark
