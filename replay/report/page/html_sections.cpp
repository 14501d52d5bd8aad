// Findings and provenance.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/advise/advise_report.h"
#include "replay/report/findings/finding_text.h"
#include "replay/report/page/html_markup.h"
#include "replay/report/page/html_tables.h"

namespace tidemark::report {
namespace {

std::string finding_markup(const findings::Finding& finding) {
    const FindingText text = finding_text(finding);
    std::string out =
        fmt::format("<li class=\"{0}\"><p><b class=\"weight\">{0}</b> <strong>{1}</strong></p>",
                    findings::to_text(finding.severity), escaped(text.title));
    for (std::size_t at = 0; at < text.detail.size();) {
        const std::size_t end = std::min(text.detail.find('\n', at), text.detail.size());
        out += fmt::format("<p>{}</p>", escaped(text.detail.substr(at, end - at)));
        at = end + 1;
    }
    if (!text.command.empty())
        out += fmt::format("<p><code>{}</code></p>", escaped(text.command));
    return out + "</li>\n";
}

void add_line(std::string& out, std::string_view name, std::string_view value) {
    if (!value.empty())
        out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value));
}

std::string options_text(const Run& run) {
    std::string text;
    for (const auto& [key, value] : run.policy_options)
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
    return text;
}

}  // namespace

std::string findings_markup(const ReportInput& input) {
    std::string out = "<section id=\"findings\"><h2>Findings</h2>\n";
    bool any = false;
    for (std::size_t trace = 0; trace < input.traces.size(); ++trace) {
        const std::vector<findings::Finding> found = findings_of(input, trace);
        if (found.empty())
            continue;
        any = true;
        if (input.traces.size() > 1)
            out +=
                fmt::format("<h3 class=\"untrusted\">{}</h3>\n", escaped(input.traces[trace].name));
        out += "<ul class=\"findings\">\n";
        for (const findings::Finding& finding : found)
            out += finding_markup(finding);
        out += "</ul>\n";
    }
    const bool is_advised = std::ranges::all_of(
        input.traces, [](const auto& trace) { return trace.advice.has_value(); });
    if (!any && is_advised)
        out += "<p>Nothing needs attention.</p>\n";
    if (!is_advised)
        out += fmt::format("<p>{}</p>\n", escaped(unadvised_text(any)));
    for (const ReportedTrace& trace : input.traces)
        if (trace.advice)
            out += fmt::format(
                "<details><summary>The full report of <code>tidemark advise</code> on {}</summary>"
                "<pre>{}</pre></details>\n",
                escaped(trace.name),
                escaped(advice_text(trace.name, trace.trace->info(), *trace.advice)));
    return out + "</section>\n";
}

std::string provenance_markup(const ReportInput& input) {
    std::string out =
        "<section id=\"provenance\"><h2>Where this comes from</h2>\n<dl class=\"lines\">\n";
    add_line(out, "Tidemark", input.provenance.version);
    add_line(out, "command", input.provenance.command);
    for (const ReportedTrace& trace : input.traces) {
        const TraceInfo& info = trace.trace->info();
        add_line(out, "trace",
                 fmt::format("{}: {}, {}{}{}, hash {:016x}", trace.name,
                             format_counted(info.event_count, "event"), info.format,
                             info.source.empty() ? "" : ", recorded by ", info.source,
                             trace.trace->recorded_hash()));
        for (const TraceDevice& device : info.devices)
            if (!device.name.empty())
                add_line(out, "recorded on",
                         device.total_memory == 0 ? device.name
                                                  : fmt::format("{}, {}", device.name,
                                                                format_bytes(device.total_memory)));
    }
    for (const ReportedRun& run : input.runs) {
        const Run& figures = run.recorded.run;
        add_line(out, "run",
                 fmt::format("{}: policy {}, device {}, memory {}, limit {}, profile {} ({:016x})",
                             run.label, figures.scenario.policy, figures.device_name,
                             format_bytes(figures.scenario.memory),
                             figures.limit_text.empty() ? "none" : figures.limit_text,
                             figures.scenario.profile, figures.profile_hash));
        add_line(out, "with", options_text(figures));
    }
    return out + "</dl>\n</section>\n";
}

}  // namespace tidemark::report
