// Totals of a comparison over several traces: means and sums of each policy, and against the
// baseline trace by trace.
#pragma once

#include <span>
#include <vector>

#include "replay/analysis/compare/compare.h"

namespace tidemark {

// One total for each scenario, ranked. A policy is called as on the first trace, save that the
// recorded one may differ from trace to trace. O(traces * scenarios).
std::vector<ComparisonTotal> add_up(std::span<const TraceComparison> traces,
                                    std::span<const Scenario> scenarios);

}  // namespace tidemark
