// How large the steps of a program can be, as a line and as an array.
#pragma once

#include <string>
#include <vector>

#include "replay/analysis/scale/largest_steps.h"
#include "replay/report/forms/json_values.h"

namespace tidemark {

// "x1.31", "x1.28 to x1.31", "none"; with a recorded batch of 16 "20 (x1.31)", "20 to 21
// (x1.28 to x1.31)". 0: the batch isn't known.
std::string growth_range_text(double surely, double perhaps, std::int64_t recorded = 0);

// "Largest steps that fit, relative to those recorded: x1.31 as recorded, x1.72 with extent
// (tidemark scale).\n", or "Largest batch that fits (recorded: 16): 20 (x1.31) as recorded ..."; ""
// of nothing.
std::string largest_steps_text(const std::vector<LargestStep>& steps);

namespace report {

Json largest_steps_of(const std::vector<LargestStep>& steps);

}  // namespace report

}  // namespace tidemark
