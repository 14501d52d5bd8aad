// Laying stretches into tracks.
#include "viz/model/timeline/annotation_tracks.h"

#include <algorithm>

namespace tidemark::viz {
namespace {

// One track as merge_ranges wants it.
struct TrackRanges {
    const History& history;
    const std::vector<std::uint32_t>& track;
    AxisUnit unit;
    Position run_end;
    std::size_t events;

    std::size_t size() const { return track.size(); }

    Position begin(std::size_t i) const { return position(history.annotation(track[i]).begin); }

    Position end(std::size_t i) const { return position(history.annotation(track[i]).end); }

    Position position(EventIndex event) const {
        return event < events ? history.position(unit, event) : run_end;
    }
};

}  // namespace

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
        else
            ++left_out_;
    }
    return taken_ < there;
}

std::vector<MergedRange> AnnotationTracks::ranges(std::size_t track, AxisUnit unit,
                                                  const Window& window, Position shortest) const {
    std::vector<MergedRange> merged;
    const TrackRanges ranges{*history_, tracks_[track], unit, history_->end(unit),
                             history_->counts().events};
    merge_ranges(ranges, window, shortest, merged);
    return merged;
}

}  // namespace tidemark::viz
