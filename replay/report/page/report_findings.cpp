// The findings of a report, for each trace with its runs.
#include <fmt/format.h>

#include "replay/findings/find.h"
#include "replay/report/page/report_facts.h"

namespace tidemark::report {

std::vector<findings::Finding> findings_of(const ReportInput& input, std::size_t trace) {
    const ReportedTrace& reported = input.traces[trace];
    std::vector<findings::FoundRun> runs;
    for (const ReportedRun& run : input.runs)
        if (run.trace == trace)
            runs.push_back({run.label, run.recorded.run.scenario.policy, run.recorded.history.get(),
                            &run.recorded.run});
    return findings::find({.info = &reported.trace->info(),
                           .advice = reported.advice ? &*reported.advice : nullptr,
                           .runs = runs});
}

std::string unadvised_text(bool any) {
    return fmt::format(
        "{} Settings that need less memory were not searched: leave out --no-advise, or run "
        "tidemark advise.",
        any ? "These findings come from the curves alone." : "The curves alone show nothing.");
}

}  // namespace tidemark::report
