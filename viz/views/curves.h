// Curves: what the timeline shows of a run over the time axis, of any kind: a history's sums, or
// what tiers hold. First look, then draw, in every frame.
#pragma once

#include <memory>
#include <vector>

#include "viz/views/timeline_legend.h"
#include "viz/views/timeline_plot.h"
#include "viz/views/track.h"

namespace tidemark::viz {

class Curves {
  public:
    Curves() = default;
    Curves(const Curves&) = delete;
    Curves& operator=(const Curves&) = delete;
    virtual ~Curves() = default;

    // Takes in the available data for that many columns. False: nothing to draw yet.
    virtual bool look(Frame& frame, const TrackInput& input, std::size_t columns) = 0;

    // The largest value that is shown, and the bound that the scale may include; 0 = unknown.
    virtual Bytes highest() const = 0;
    virtual Bytes capacity() const = 0;

    virtual std::vector<LegendEntry> legend(Frame& frame) const = 0;

    // A legend's entry was clicked.
    virtual void toggle(std::size_t entry) = 0;

    // Its texts are placed around those of `labels`, and added to them.
    virtual void draw(Frame& frame, const TimeArea& area, const ByteScale& scale,
                      std::vector<Box>& labels) = 0;

    // Something is being computed.
    virtual bool busy() const { return false; }

    // The values at a position of the plot.
    virtual void describe(Frame& frame, const TimeArea& area, Position position,
                          HoverCard& card) = 0;
};

std::unique_ptr<Curves> history_curves();
std::unique_ptr<Curves> tier_curves();

}  // namespace tidemark::viz
