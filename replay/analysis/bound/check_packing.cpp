// The first clash can only be between neighbours by address.
#include "replay/analysis/bound/check_packing.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <vector>

namespace tidemark {
namespace {

std::vector<std::size_t> sorted_by(std::span<const Interval> intervals,
                                   std::int64_t Interval::*at) {
    std::vector<std::size_t> order(intervals.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return intervals[a].*at < intervals[b].*at; });
    return order;
}

}  // namespace

std::optional<PackingClash> find_clash(std::span<const Interval> intervals,
                                       std::span<const Bytes> offsets) {
    const std::vector<std::size_t> begins = sorted_by(intervals, &Interval::begin);
    const std::vector<std::size_t> ends = sorted_by(intervals, &Interval::end);
    std::map<Bytes, std::size_t> live;
    std::size_t ended = 0;
    for (const std::size_t next : begins) {
        for (; intervals[ends[ended]].end <= intervals[next].begin; ++ended)
            if (intervals[ends[ended]].size > 0)
                live.erase(offsets[ends[ended]]);
        if (intervals[next].size == 0)
            continue;
        const auto above = live.lower_bound(offsets[next]);
        if (above != live.end() && above->first < offsets[next] + intervals[next].size)
            return PackingClash{above->second, next};
        if (above != live.begin()) {
            const auto below = std::prev(above);
            if (below->first + intervals[below->second].size > offsets[next])
                return PackingClash{below->second, next};
        }
        live.emplace_hint(above, offsets[next], next);
    }
    return std::nullopt;
}

}  // namespace tidemark
