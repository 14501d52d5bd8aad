// Putting the page together. What makes it large gives way until it fits: curves first, for they
// lose least, then the maps' cells.
#include "replay/report/page/html_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "replay/report/page/html_data.h"
#include "replay/report/page/html_markup.h"
#include "replay/report/page/html_tables.h"
#include "replay/report/page/page_files.h"
#include "replay/report/page/report_facts.h"

namespace tidemark {
namespace {

using namespace report;

constexpr std::size_t kHtmlReportPeakEntries = 12;
constexpr std::size_t kPeaksShown = 4;  // runs of which the peak's tables are shown
constexpr std::size_t kLeastBuckets = 1 << 10;

PageDetail detail_for(const ReportInput& input) {
    PageDetail detail;
    if (input.runs.size() > 2)
        detail.buckets /= 2;
    if (input.runs.size() > 4) {
        detail.buckets /= 2;
        detail.map = {768, 256};
    }
    return detail;
}

// At most what is left of kLargestReport.
std::string data_text(const ReportInput& input, std::size_t room) {
    PageDetail detail = detail_for(input);
    std::string text = script_json(page_data(input, detail));
    while (text.size() > room && detail.buckets > kLeastBuckets &&
           !(input.cancelled && input.cancelled())) {
        detail.buckets /= 2;
        detail.map.columns = std::max(detail.map.columns * 3 / 4, 128U);
        detail.map.rows = std::max(detail.map.rows * 3 / 4, 64U);
        detail.annotations /= 2;
        text = script_json(page_data(input, detail));
    }
    return text;
}

std::string text_of(const ReportInput& input) {
    std::string out;
    for (const ReportedRun& run : input.runs)
        out += fmt::format("<p><b class=\"untrusted\">{}</b>: {}</p>\n", escaped(run.label),
                           escaped(curve_text(run)));
    if (input.traces.size() > 1)
        out +=
            "<p>These are different programs or recordings: they are laid side by side by the "
            "time from each one's start, so that only times can be compared, not events.</p>\n";
    return out;
}

std::string peaks_of(const ReportInput& input) {
    std::string out;
    for (std::size_t i = 0; i < std::min(input.runs.size(), kPeaksShown); ++i)
        out += peak_markup(input.runs[i], peak_content(input.runs[i], kHtmlReportPeakEntries));
    return out;
}

}  // namespace

std::string html_report(const ReportInput& input) {
    std::vector<std::pair<std::string_view, std::string>> values{
        {"version", escaped(input.provenance.version)},
        {"title", escaped(input.title)},
        {"answer", escaped(answer(input))},
        {"style", std::string(page_style())},
        {"script", std::string(page_script())},
        {"cards", cards_markup(input)},
        {"comparison", comparison_markup(input)},
        {"findings", findings_markup(input)},
        {"refusals", refusals_markup(input)},
        {"peaks", peaks_of(input)},
        {"provenance", provenance_markup(input)},
        {"words", text_of(input)},
        {"still", still_markup(input.runs.front())},
    };
    if (input.cancelled && input.cancelled())
        return {};
    std::size_t taken = page_markup().size();
    for (const auto& [name, text] : values)
        taken += text.size();
    values.emplace_back("data",
                        data_text(input, kLargestReport - std::min(taken, kLargestReport / 2)));
    return filled_in(page_markup(), values);
}

}  // namespace tidemark
