// The report page: what came of one or more runs, as one file that opens in any browser without a
// network and runs no script: answer, figures, comparison, curves, tables, findings and where it
// all comes from. It prints and mails well. And the same as plain text, for those who'd rather read
// or listen. What moves is the viewer's page (replay/cli/viewer_page.h).
//
// The same input gives the same bytes: no date, no machine, no speed of the replay is in it. Texts
// of a trace are nobody's markup: see html_markup.h. The page's own files are in page/.
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

// Runs of the same trace stand together; the first of each is what the others are compared with.
struct ReportInput {
    std::string title;
    std::vector<ReportedTrace> traces;     // at least one
    std::vector<ReportedRun> runs;         // at least one
    std::optional<RankReport> ranks = {};  // where the traces are ranks of one program
    Provenance provenance;
    Cancelling cancelled = {};  // may be empty; after it said so, nobody looks at the page
};

// Below this many bytes for up to 16 runs, of however many events: curves have so many columns. A
// tenth of it where names aren't megabytes long.
constexpr std::size_t kLargestReport = std::size_t{5} << 20;

// The page. O(events + blocks log blocks).
std::string html_report(const ReportInput& input);

// The same facts as lines of text; curves as sentences. O(events).
std::string text_report(const ReportInput& input);

}  // namespace tidemark
