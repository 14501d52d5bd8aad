// Putting the page together.
#include "replay/report/page/html_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "replay/report/page/html_curves.h"
#include "replay/report/page/html_markup.h"
#include "replay/report/page/html_tables.h"
#include "replay/report/page/page_files.h"
#include "replay/report/page/page_style.h"
#include "replay/report/page/report_facts.h"

namespace tidemark {
namespace {

using namespace report;

constexpr std::size_t kHtmlReportPeakEntries = 12;
constexpr std::size_t kPeaksShown = 4;  // runs with tables of their peak

std::string peaks_of(const ReportInput& input) {
    std::string out;
    for (std::size_t i = 0; i < std::min(input.runs.size(), kPeaksShown); ++i)
        out += peak_markup(input.runs[i], peak_content(input.runs[i], kHtmlReportPeakEntries));
    return out;
}

}  // namespace

std::string html_report(const ReportInput& input) {
    const std::vector<std::pair<std::string_view, std::string>> values{
        {"version", escaped(input.provenance.version)},
        {"title", escaped(input.title)},
        {"answer", escaped(answer(input))},
        {"style", style_markup()},
        {"cards", cards_markup(input)},
        {"comparison", comparison_markup(input)},
        {"findings", findings_markup(input)},
        {"refusals", refusals_markup(input)},
        {"peaks", peaks_of(input)},
        {"provenance", provenance_markup(input)},
        {"curves", curves_markup(input)},
        {"parts", parts_markup(input)},
    };
    if (input.cancelled && input.cancelled())
        return {};
    return filled_in(page_markup(), values);
}

}  // namespace tidemark
