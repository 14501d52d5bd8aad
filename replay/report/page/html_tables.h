// The page's figures, tables, findings and provenance.
#pragma once

#include <string>

#include "replay/report/page/html_report.h"
#include "replay/report/page/report_facts.h"

namespace tidemark::report {

// Cards with the figures of each trace's first run; with many traces, only of the one that peaks
// highest.
std::string cards_markup(const ReportInput& input);

// All runs side by side; "" for a single one.
std::string comparison_markup(const ReportInput& input);

std::string findings_markup(const ReportInput& input);

// What was live at the peak of a run: blocks, sites, tags.
std::string peak_markup(const ReportedRun& run, const PeakContent& content);

// Requests that ran out of memory in any run; "" if none did.
std::string refusals_markup(const ReportInput& input);

std::string provenance_markup(const ReportInput& input);

}  // namespace tidemark::report
