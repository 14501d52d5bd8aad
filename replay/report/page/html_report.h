// The report page: the results of one or more runs, as one file that opens in any browser without a
// network and runs no script: answer, figures, comparison, curves, tables, findings and provenance.
// It prints and mails well. The same is available as plain text, for terminals and screen readers.
// The interactive page is the viewer's (replay/cli/viewer_page.h).
//
// The same input gives the same bytes: it contains no date, machine or replay speed. Text of a
// trace is never markup: see html_markup.h. The page's own files are in page/.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "replay/analysis/advise/advise.h"
#include "replay/analysis/compare/ranks.h"
#include "replay/report/forms/model.h"
#include "replay/scenario/record_history.h"
#include "traces/model/trace.h"

namespace tidemark {

struct ReportedTrace {
    std::string name;              // without folders
    const Trace* trace = nullptr;  // must outlive the call
    std::optional<Advice> advice;
    std::optional<OfflineBound> offline = {};
};

struct ReportedRun {
    std::size_t trace = 0;  // of ReportInput::traces
    std::string label;      // "torch", "run.tmk, torch": as in legends
    RecordedRun recorded;   // complete
};

// Runs of the same trace are adjacent; the first of each is the baseline of the others.
struct ReportInput {
    std::string title;
    std::vector<ReportedTrace> traces;     // at least one
    std::vector<ReportedRun> runs;         // at least one
    std::optional<RankReport> ranks = {};  // if the traces are ranks of one program
    Provenance provenance;
    Cancelling cancelled = {};  // may be empty; once cancelled, the page isn't used
};

// A page of up to 16 runs has fewer bytes than this, however many events they have, since curves
// have a fixed number of columns. A tenth of it unless names are megabytes long.
constexpr std::size_t kLargestReport = std::size_t{5} << 20;

// The page. O(events + blocks log blocks).
std::string html_report(const ReportInput& input);

// The same facts as lines of text; curves as sentences. O(events).
std::string text_report(const ReportInput& input);

}  // namespace tidemark
