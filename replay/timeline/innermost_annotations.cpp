// One sweep over begins and ends.
#include "replay/timeline/innermost_annotations.h"

#include <algorithm>
#include <set>

namespace tidemark {

InnermostAnnotations::InnermostAnnotations(const History& history) {
    struct Edge {
        EventIndex event = 0;
        std::uint32_t annotation = 0;
        bool begins = false;
    };

    const auto count = static_cast<std::uint32_t>(history.counts().annotations);
    std::vector<Edge> edges;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Annotation annotation = history.annotation(i);
        edges.push_back({annotation.begin, i, true});
        if (annotation.end != kNever)
            edges.push_back({annotation.end, i, false});
    }
    std::ranges::stable_sort(edges, {}, &Edge::event);
    std::set<std::uint32_t> open;  // they are in order of begin
    for (const Edge& edge : edges) {
        if (edge.begins)
            open.insert(edge.annotation);
        else
            open.erase(edge.annotation);
        const std::uint32_t name = open.empty() ? 0 : history.annotation(*open.rbegin()).name;
        if (changes_.empty() || changes_.back().name != name)
            changes_.push_back({edge.event, name});
    }
}

std::uint32_t InnermostAnnotations::name_at(EventIndex event) const {
    const auto next = std::ranges::upper_bound(changes_, event, {}, &Change::event);
    return next == changes_.begin() ? 0 : (next - 1)->name;
}

}  // namespace tidemark
