// Curves: a run's memory over time, and what its peak consists of, as SVG without a script.
//
// Lengths across are shares of the chart, so that it is as wide as its page or paper while texts,
// heights and lines keep their size. Of each of its columns a chart shows the least and the most
// that held within: no peak is lost, however short. Colours are variables of the page's style.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replay/report/page/html_report.h"

namespace tidemark::report {

// The axes that a run's curves are drawn over: time where it has times, and events where it has
// none or they are the readable axis (replay/facts/readable_axis.h).
std::vector<AxisUnit> chart_axes(const History& history);

// A chart for each trace and axis, with all of the trace's runs, in words too. Of many traces those
// that peak highest, and a sentence that says so. O(columns log events) a chart.
std::string curves_markup(const ReportInput& input);

// A bar for each run: what its reserved memory is used for where it peaks. "" if none took memory.
// O((segments + live blocks) log live blocks) a run.
std::string parts_markup(const ReportInput& input);

}  // namespace tidemark::report
