// What the page's script draws: curves, maps and marks of all runs, as one JSON value.
#pragma once

#include <cstddef>

#include "replay/report/forms/json_values.h"
#include "replay/report/page/html_map.h"
#include "replay/report/page/html_report.h"

namespace tidemark::report {

// How much of everything.
struct PageDetail {
    std::size_t buckets = std::size_t{1} << 16;  // of curves, for each trace
    MapSize map;
    std::size_t annotations = 1000;
    std::size_t marks = 500;
};

// {"traces", "runs"}. O(events + runs * (blocks + buckets log events)).
Json page_data(const ReportInput& input, const PageDetail& detail);

}  // namespace tidemark::report
