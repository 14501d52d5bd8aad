// Sorts launches by stream.
#include "viz/model/timeline/launch_tracks.h"

#include <algorithm>

namespace tidemark::viz {

bool LaunchTracks::follow(const std::shared_ptr<const History>& history, std::size_t most) {
    if (history_ != history) {
        *this = {};
        history_ = history;
    }
    const std::size_t there = history->counts().launches;
    const std::size_t until = std::min(there, taken_ + most);
    for (; taken_ < until; ++taken_)
        tracks_.add(history->launch(taken_).stream, taken_);
    return taken_ < there;
}

std::vector<MergedRange> LaunchTracks::ranges(std::size_t track, AxisUnit unit,
                                              const Window& window, Position shortest) const {
    const std::vector<std::uint32_t>& launches = tracks_.members(track);
    const Position run_end = history_->end(unit);
    const std::size_t events = history_->counts().events;
    const auto position = [&](EventIndex event) {
        return event < events ? history_->position(unit, event) : run_end;
    };
    return merge_ranges(
        launches.size(),
        [&](std::size_t i) { return position(history_->launch(launches[i]).begin); },
        [&](std::size_t i) { return position(history_->launch(launches[i]).end); }, window,
        shortest);
}

}  // namespace tidemark::viz
