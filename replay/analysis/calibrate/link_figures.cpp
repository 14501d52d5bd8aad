// A straight line through measured copies.
#include "replay/analysis/calibrate/link_figures.h"

#include <algorithm>
#include <cmath>

namespace tidemark {

Result<FoundLink> link_of(const CostCurve& copies) {
    const std::span<const CostPoint> points = copies.points();
    if (points.size() < 2 || points.back().cost <= points[points.size() - 2].cost)
        return fail(ErrorCode::bad_input,
                    "its copies show no bandwidth: that needs two sizes, of which the larger takes "
                    "more time");
    const CostPoint& last = points.back();
    const CostPoint& before = points[points.size() - 2];
    const double bytes_per_ns = static_cast<double>(last.bytes - before.bytes) /
                                static_cast<double>(last.cost - before.cost);
    const double latency = static_cast<double>(points.front().cost) -
                           static_cast<double>(points.front().bytes) / bytes_per_ns;
    return FoundLink{std::round(bytes_per_ns * 1e9),
                     static_cast<Nanoseconds>(std::llround(std::max(latency, 0.0)))};
}

}  // namespace tidemark
