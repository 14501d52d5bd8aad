// StreamClocks: learning along edges, and looking up.
#include "core/capture/stream_clocks.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {

void StreamClocks::learn(Steps& steps, Step step) {
    if (!steps.empty() && steps.back().known >= step.known)
        return;
    TM_CHECK_DEBUG(steps.empty() || steps.back().at <= step.at);
    if (!steps.empty() && steps.back().at == step.at)
        steps.back() = step;
    else
        steps.push_back(step);
}

void StreamClocks::edge(std::uint32_t at, StreamId from, StreamId to) {
    if (from == to)
        return;
    auto& mine = known_[to];
    learn(mine[from], {at, at});
    const auto theirs = known_.find(from);
    if (theirs == known_.end())
        return;
    for (const auto& [stream, steps] : theirs->second) {
        if (stream != to && !steps.empty())
            learn(mine[stream], {at, steps.back().known});
    }
}

std::uint32_t StreamClocks::ready(StreamId earlier, std::uint32_t end, StreamId later) const {
    if (earlier == later)
        return end;
    const auto mine = known_.find(later);
    if (mine == known_.end())
        return kNever;
    const auto steps = mine->second.find(earlier);
    if (steps == mine->second.end())
        return kNever;
    const auto step = std::partition_point(steps->second.begin(), steps->second.end(),
                                           [end](const Step& one) { return one.known < end; });
    return step == steps->second.end() ? kNever : step->at;
}

bool StreamClocks::ordered(StreamId earlier, std::uint32_t end, StreamId later,
                           std::uint32_t begin) const {
    const std::uint32_t from = ready(earlier, end, later);
    return from != kNever && from <= begin;
}

}  // namespace tidemark
