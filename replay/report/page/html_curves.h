// Curves: a run's memory over time, and what its peak consists of, as SVG without a script.
//
// Horizontal lengths are shares of the chart, so that it is as wide as its page or paper while
// texts, heights and lines keep their size. For each of its columns a chart shows the least and the
// most, so no peak is lost, however short. Colours are variables of the page's style.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replay/report/page/html_report.h"

namespace tidemark::report {

// The axes that a run's curves are drawn over: time if it has times, and events if it has none or
// if they are the readable axis (replay/facts/readable_axis.h).
std::vector<AxisUnit> chart_axes(const History& history);

// A chart for each trace and axis, with all of the trace's runs, and the same as text. Of many
// traces, those that peak highest, and a sentence about that. O(columns log events) a chart.
std::string curves_markup(const ReportInput& input);

// A bar for each run: what its reserved memory is used for where it peaks. "" if none reserved
// memory. O((segments + live blocks) log live blocks) a run.
std::string parts_markup(const ReportInput& input);

}  // namespace tidemark::report
