// Lays stretches into tracks.
#include "viz/model/timeline/annotation_tracks.h"

#include <algorithm>

namespace tidemark::viz {
bool AnnotationTracks::follow(const std::shared_ptr<const History>& history, std::size_t most) {
    if (history_ != history) {
        *this = {};
        history_ = history;
    }
    const std::size_t there = history->counts().annotations;
    const std::size_t until = std::min(there, taken_ + most);
    for (; taken_ < until; ++taken_) {
        const EventIndex begin = history->annotation(taken_).begin;
        const auto track = std::find_if(tracks_.begin(), tracks_.end(), [&](const auto& stretches) {
            return history->annotation(stretches.back()).end <= begin;
        });
        if (track != tracks_.end())
            track->push_back(static_cast<std::uint32_t>(taken_));
        else if (tracks_.size() < kMostTracks)
            tracks_.push_back({static_cast<std::uint32_t>(taken_)});
    }
    return taken_ < there;
}

std::vector<MergedRange> AnnotationTracks::ranges(std::size_t track, AxisUnit unit,
                                                  const Window& window, Position shortest) const {
    const std::vector<std::uint32_t>& stretches = tracks_[track];
    const Position run_end = history_->end(unit);
    const std::size_t events = history_->counts().events;
    const auto position = [&](EventIndex event) {
        return event < events ? history_->position(unit, event) : run_end;
    };
    return merge_ranges(
        stretches.size(),
        [&](std::size_t i) { return position(history_->annotation(stretches[i]).begin); },
        [&](std::size_t i) { return position(history_->annotation(stretches[i]).end); }, window,
        shortest);
}

}  // namespace tidemark::viz
