// HitTicks: marks where blocks that were found by a search are allocated, as ticks along an edge of
// a strip over the time axis.
#pragma once

#include <cstdint>
#include <vector>

#include "viz/draw/frame.h"

namespace tidemark::viz {

class HitTicks {
  public:
    // Fills the columns of `box`, which shows `window`, in which a hit is allocated. Counts again
    // only what has changed: O(columns * log blocks).
    void draw(Frame& frame, const Box& box, const Window& window);

  private:
    // What the counts are of.
    struct Question {
        std::uint64_t revision = 0;
        std::size_t searched = 0;  // blocks
        AxisUnit unit = AxisUnit::time;
        Window window;
        std::size_t columns = 0;

        friend bool operator==(const Question&, const Question&) = default;
    };

    Question question_;
    std::vector<std::uint32_t> counts_;
};

}  // namespace tidemark::viz
