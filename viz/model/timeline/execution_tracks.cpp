// Sorting executions by stream and begin.
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
    std::vector<std::size_t> sorted(tracks_.size());  // so many of a track are in order
    for (std::size_t i = 0; i < tracks_.size(); ++i)
        sorted[i] = tracks_[i].executions.size();
    for (std::size_t i = first; i < taken_; ++i) {
        const std::uint32_t stream = history->execution(i).stream;
        auto track = std::ranges::find(tracks_, stream, &ExecutionsOfStream::stream);
        if (track == tracks_.end()) {
            if (tracks_.size() == kMostTracks)
                continue;
            track = tracks_.insert(track, {stream, {}});
            sorted.push_back(0);
        }
        track->executions.push_back(static_cast<std::uint32_t>(i));
    }
    // They come nearly in order: only what is new has to be sorted, and merged with the last ones.
    const auto begin_of = [&](std::uint32_t i) { return history_->execution(i).begin; };
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
        auto& all = tracks_[i].executions;
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
    const std::vector<std::uint32_t>& executions = tracks_[track].executions;
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
