// The report as lines of text, for terminals and screen readers.
#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/findings/finding_text.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"
#include "replay/report/page/change_text.h"
#include "replay/report/page/html_report.h"
#include "replay/report/page/report_facts.h"
#include "replay/report/runs/ranks_report.h"

namespace tidemark {
namespace {

using namespace report;

constexpr std::size_t kTextReportPeakEntries = 5;

std::string facts_text(const ReportInput& input, const ReportedRun& run) {
    Table table = Table::untitled("lrl");
    for (const Fact& fact : run_facts(input, run))
        table.row(fact.name, fact.value, fact.meaning);
    return table.bare("  ");
}

std::string groups_text(std::string_view title, const std::vector<PeakGroup>& groups,
                        std::string_view nameless) {
    if (groups.empty())
        return {};
    Table table = Table::untitled("rrl");
    for (const PeakGroup& group : groups)
        table.row(format_bytes(group.bytes), format_counted(group.blocks, "block"),
                  group.name.empty() ? std::string(nameless) : one_line(group.name));
    return fmt::format("  {}:\n{}", title, table.bare("    "));
}

std::string run_section(const ReportInput& input, const ReportedRun& run) {
    const PeakContent content = peak_content(run, kTextReportPeakEntries);
    return fmt::format("\n{}\n", printable(run.label)) + facts_text(input, run) + "  " +
           curve_text(run) + "\n" +
           groups_text("at the allocated peak, by call site", content.sites,
                       "(no stack recorded)") +
           groups_text("at the allocated peak, by tag", content.tags, "(no tag)");
}

std::string comparison_lines(const ReportInput& input) {
    std::string text;
    for (const ReportedRun& run : input.runs) {
        const ReportedRun& baseline = baseline_of(input, run);
        if (&baseline == &run)
            continue;
        text += fmt::format("  {} against {}:", printable(run.label), printable(baseline.label));
        for (const std::string_view name : compared_figures()) {
            const Measurement& now = run.recorded.run.measurement(name);
            text += fmt::format("\n    {}: {}, {}", figure_name(now), figure_text(now),
                                change_of(now, baseline.recorded.run.measurement(name)).text);
        }
        text += "\n";
    }
    return text.empty() ? text : "\nComparison\n" + text;
}

std::string finding_lines(const ReportInput& input, std::size_t trace) {
    std::string text = findings_text(findings_of(input, trace), false);
    if (!input.traces[trace].advice)
        text += fmt::format("  {}\n", unadvised_text(!text.empty()));
    if (text.empty())
        text = "  Nothing needs attention.\n";
    return fmt::format("\nFindings in {}\n{}", printable(input.traces[trace].name), text);
}

}  // namespace

std::string text_report(const ReportInput& input) {
    std::string text = printable(input.title) + "\n\n" + printable(answer(input)) + "\n";
    if (input.ranks)
        text += "\n" + ranks_table(*input.ranks).ruled(Emphasis::none);
    for (std::size_t i = 0; i < input.traces.size(); ++i)
        text += finding_lines(input, i);
    for (const ReportedRun& run : input.runs)
        text += run_section(input, run);
    text += comparison_lines(input);
    text += "\n";
    for (const ReportedTrace& trace : input.traces)
        text += fmt::format("trace {}: hash {:016x}\n", printable(trace.name),
                            trace.trace->recorded_hash());
    return text + fmt::format("Tidemark {}: {}\n", input.provenance.version,
                              printable(input.provenance.command));
}

}  // namespace tidemark
