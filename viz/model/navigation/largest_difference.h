// Where two runs differ most.
#pragma once

#include <optional>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

struct LargestDifference {
    Position position = 0;
    std::int64_t bytes = 0;  // by how much one exceeds the other there; negative: less

    friend bool operator==(const LargestDifference&, const LargestDifference&) = default;
};

// The first of the largest differences in `series`, up to the end of the shorter one; none if they
// never differ or it was cancelled. Stretches are cut into columns only as far as their bounds
// allow a larger difference: about ten queries in practice, O(events) at worst.
std::optional<LargestDifference> largest_difference(const History& one, const History& other,
                                                    Series series, AxisUnit unit,
                                                    const Cancelled& cancelled);

}  // namespace tidemark::viz
