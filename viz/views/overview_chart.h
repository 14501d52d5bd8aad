// OverviewChart: the curves of a run over the time axis, with the answer drawn where it applies: a
// bracket around the memory that was free, with its meaning.
#pragma once

#include <memory>

#include "viz/model/blocks/peak_answer.h"
#include "viz/views/curves.h"
#include "viz/views/tier_follower.h"

namespace tidemark::viz {

class OverviewChart {
  public:
    OverviewChart();

    // Draws into `box`, its axes included; `answer` may be null: it isn't known yet. False if the
    // run has nothing to draw.
    bool draw(Frame& frame, const Box& box, const PeakAnswer* answer);

    bool busy() const { return tiers_.busy() || history_curves_->busy(); }

  private:
    static void draw_legend(Frame& frame, Curves& curves, Box& plot);

    std::unique_ptr<Curves> history_curves_;
    std::unique_ptr<Curves> tier_curves_;
    TierFollower tiers_;
};

}  // namespace tidemark::viz
