// Sorts executions by stream and start.
#include "viz/model/timeline/execution_tracks.h"

#include <algorithm>

namespace tidemark::viz {

bool ExecutionTracks::follow(const std::shared_ptr<const History>& history, std::size_t most) {
    if (history_ != history) {
        *this = {};
        history_ = history;
    }
    const std::size_t there = history->counts().executions;
    const std::size_t first = taken_;
    taken_ = std::min(there, taken_ + most);
    std::vector<std::size_t> sorted;  // how many of a track are in order
    for (std::size_t i = 0; i < tracks_.count(); ++i)
        sorted.push_back(tracks_.members(i).size());
    for (std::size_t i = first; i < taken_; ++i)
        tracks_.add(history->execution(i).stream, i);
    sorted.resize(tracks_.count());
    // They come nearly in order: only what is new has to be sorted, and merged with the last ones.
    const auto begin_of = [&](std::uint32_t i) { return history_->execution(i).begin; };
    for (std::size_t i = 0; i < tracks_.count(); ++i) {
        auto& all = tracks_.members(i);
        const auto middle = all.begin() + static_cast<std::ptrdiff_t>(sorted[i]);
        if (middle == all.end())
            continue;
        std::ranges::stable_sort(middle, all.end(), {}, begin_of);
        const auto from =
            std::ranges::upper_bound(all.begin(), middle, begin_of(*middle), {}, begin_of);
        std::ranges::inplace_merge(from, middle, all.end(), {}, begin_of);
    }
    return taken_ < there;
}

std::vector<MergedRange> ExecutionTracks::ranges(std::size_t track, AxisUnit unit,
                                                 const Window& window, Position shortest) const {
    const std::vector<std::uint32_t>& executions = tracks_.members(track);
    const std::size_t events = history_->counts().events;
    const auto position = [&](Nanoseconds time) -> Position {
        if (unit == AxisUnit::time)
            return time;
        const EventIndex event = history_->first_at(time);
        return event < events ? history_->position(unit, event) : history_->end(unit);
    };
    const auto begin = [&](std::size_t i) {
        return position(history_->execution(executions[i]).begin);
    };
    const auto end = [&](std::size_t i) {
        const Position own = position(history_->execution(executions[i]).end());
        return i + 1 < executions.size() ? std::min(own, begin(i + 1)) : own;
    };
    return merge_ranges(executions.size(), begin, end, window, shortest);
}

}  // namespace tidemark::viz
