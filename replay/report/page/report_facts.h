// What a report says about its runs, independent of its layout: both the page and the text use
// this. Pure; the texts may contain text of a trace, so whoever shows them escapes them.
#pragma once

#include <string>
#include <vector>

#include "replay/findings/finding.h"
#include "replay/report/page/html_report.h"

namespace tidemark::report {

// A figure with a name, in human units, and what it means.
struct Fact {
    std::string name;
    std::string value;
    std::string meaning;
};

// A row that holds memory at the peak: a block, or all blocks of a site or tag.
struct PeakBlock {
    Block block;
    std::string tag;
    std::string site;    // innermost frame that means something; "" = not recorded
    std::string stream;  // the program's own handle
};

struct PeakGroup {
    std::string name;
    Bytes bytes = 0;  // granted
    std::size_t blocks = 0;
};

// What was live when most was allocated.
struct PeakContent {
    EventIndex event = 0;
    Nanoseconds time = 0;
    SeriesValues values;
    std::vector<PeakBlock> blocks;  // the largest
    std::vector<PeakGroup> sites;   // the largest, by where they were allocated
    std::vector<PeakGroup> tags;
    std::size_t live = 0;
};

// "gpt2.pickle under torch peaks at 8.30 GiB, 2.12 GiB more than the program ever requested at once
// ..."
std::string answer(const ReportInput& input);

// Peak, waste and similar figures of a run.
std::vector<Fact> run_facts(const ReportInput& input, const ReportedRun& run);

// The findings of one trace: from its runs and from advise, the most urgent first.
std::vector<findings::Finding> findings_of(const ReportInput& input, std::size_t trace);

// For a report without `advise`: says that findings come from the curves alone, or that there are
// none (not `any`).
std::string unadvised_text(bool any);

// At most `most` of each list. O(live log live).
PeakContent peak_content(const ReportedRun& run, std::size_t most);

// A run's curve of reserved memory as a sentence: where it starts, rises, peaks, ends.
std::string curve_text(const ReportedRun& run);

// The figures in which runs are compared.
std::span<const std::string_view> compared_figures();

// A short name for a figure: "peak reserved".
std::string figure_name(const Measurement& measurement);

// What a run is compared with: the first run of its trace. That run itself is compared with the
// first of all, unless the traces are ranks of one program. The first of all has itself.
const ReportedRun& baseline_of(const ReportInput& input, const ReportedRun& run);

}  // namespace tidemark::report
