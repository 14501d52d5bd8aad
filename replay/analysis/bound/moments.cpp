// One pass over the begins and ends.
#include "replay/analysis/bound/moments.h"

#include <algorithm>

namespace tidemark {

Bytes Moments::peak_load() const {
    return load.empty() ? 0 : *std::max_element(load.begin(), load.end());
}

Moments find_moments(std::span<const Interval> intervals) {
    struct Edge {
        std::int64_t time;
        bool begins;
        std::uint32_t interval;
    };

    std::vector<Edge> edges;
    edges.reserve(intervals.size() * 2);
    for (std::uint32_t i = 0; i < intervals.size(); ++i) {
        edges.push_back({intervals[i].begin, true, i});
        edges.push_back({intervals[i].end, false, i});
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
        return a.time != b.time ? a.time < b.time : a.begins < b.begins;
    });

    Moments moments;
    moments.ranges.resize(intervals.size());
    Bytes load = 0;
    std::uint32_t live = 0;
    bool grown = false;
    for (const Edge& edge : edges) {
        MomentRange& range = moments.ranges[edge.interval];
        if (edge.begins) {
            range.first = static_cast<std::uint32_t>(moments.load.size());
            load += intervals[edge.interval].size;
            ++live;
            grown = true;
            continue;
        }
        if (grown) {
            moments.load.push_back(load);
            moments.live.push_back(live);
            grown = false;
        }
        range.last = static_cast<std::uint32_t>(moments.load.size());
        load -= intervals[edge.interval].size;
        --live;
    }
    return moments;
}

}  // namespace tidemark
