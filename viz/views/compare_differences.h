// CompareDifferences: where two runs diverge and where they differ most: searched in jobs, worded,
// marked and gone to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "viz/draw/time_area.h"
#include "viz/model/navigation/comparison.h"
#include "viz/model/navigation/largest_difference.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

class CompareDifferences {
  public:
    // Searches what is new. Runs that are not `aligned` share no events: they only differ.
    void look(const Frame& frame, const std::shared_ptr<const History>& one,
              const std::shared_ptr<const History>& other, bool aligned);

    bool busy() const { return first_job_.running() || largest_job_.running(); }

    // "Reserved memory differs first at event 3."
    std::string text() const;

    // Buttons at the right of `line` that go there. Returns where they start.
    float draw_buttons(Frame& frame, const Box& line, const History& history) const;

    // A dashed line where they diverge.
    void mark_first(Frame& frame, const TimeArea& area, const Box& box,
                    const History& history) const;

    // In the strip of differences: the largest one, and where.
    void label_largest(Frame& frame, const TimeArea& area, const Box& box,
                       std::vector<Box>& labels) const;

  private:
    using Pair = std::pair<std::shared_ptr<const History>, std::shared_ptr<const History>>;

    void start(bool aligned, AxisUnit unit);

    Pair pair_;
    bool aligned_ = false;
    AxisUnit unit_ = AxisUnit::time;
    std::size_t events_ = 0;  // that both had when the search started
    Job<Divergence> first_job_;
    std::optional<Divergence> first_;
    Job<std::optional<LargestDifference>> largest_job_;
    std::optional<LargestDifference> largest_;
};

}  // namespace tidemark::viz
