// Laying stretches into lanes.
#include "viz/model/timeline/annotation_tracks.h"

#include <algorithm>

namespace tidemark::viz {
namespace {

// One lane as merge_ranges wants it.
struct LaneRanges {
    const History& history;
    const std::vector<std::uint32_t>& lane;
    AxisUnit unit;
    Position run_end;
    std::size_t events;

    std::size_t size() const { return lane.size(); }

    Position begin(std::size_t i) const { return position(history.annotation(lane[i]).begin); }

    Position end(std::size_t i) const { return position(history.annotation(lane[i]).end); }

    Position position(EventIndex event) const {
        return event < events ? history.position(unit, event) : run_end;
    }
};

}  // namespace

bool AnnotationLanes::follow(const std::shared_ptr<const History>& history, std::size_t most) {
    if (history_ != history) {
        *this = {};
        history_ = history;
    }
    const std::size_t there = history->counts().annotations;
    const std::size_t until = std::min(there, taken_ + most);
    for (; taken_ < until; ++taken_) {
        const EventIndex begin = history->annotation(taken_).begin;
        const auto lane = std::find_if(lanes_.begin(), lanes_.end(), [&](const auto& stretches) {
            return history->annotation(stretches.back()).end <= begin;
        });
        if (lane != lanes_.end())
            lane->push_back(static_cast<std::uint32_t>(taken_));
        else if (lanes_.size() < kLanes)
            lanes_.push_back({static_cast<std::uint32_t>(taken_)});
        else
            ++left_out_;
    }
    return taken_ < there;
}

std::vector<MergedRange> AnnotationLanes::ranges(std::size_t lane, AxisUnit unit,
                                                 const Window& window, Position shortest) const {
    std::vector<MergedRange> merged;
    const LaneRanges ranges{*history_, lanes_[lane], unit, history_->end(unit),
                            history_->counts().events};
    merge_ranges(ranges, window, shortest, merged);
    return merged;
}

}  // namespace tidemark::viz
