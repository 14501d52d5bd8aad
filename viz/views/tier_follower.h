// TierFollower: the tracks of a replay over tiers, made in a job when a view first needs them, and
// shared by all views that draw the same run.
#pragma once

#include <memory>

#include "viz/model/timeline/tier_tracks.h"
#include "viz/views/view.h"

namespace tidemark::viz {

class TierFollower {
  public:
    // The tracks of `run`, once they are there; null before, and for a run without tiers. With
    // `wait` they are waited for.
    std::shared_ptr<const TierTracks> look(const ViewedRun& run, bool wait);

    bool busy() const { return job_.running(); }

  private:
    Job<std::shared_ptr<const TierTracks>> job_;
    std::shared_ptr<const TierTracks> tracks_;
    const TierRun* run_ = nullptr;
};

}  // namespace tidemark::viz
