// The strip of differences between two runs: above the middle where one has more, below where the
// other has, with signs in addition to the colours.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "viz/draw/canvas.h"
#include "viz/model/navigation/comparison.h"
#include "viz/views/timeline_plot.h"

namespace tidemark::viz {

// "+1.20 GiB", "-3.00 MiB", "0 B".
std::string signed_bytes(std::int64_t bytes);

// The columns are side by side from the box's left, a pixel each; the largest of them sets the
// scale. With its axis in the margin at the left.
void draw_differences(Canvas& canvas, const Box& box, std::span<const DifferenceColumn> columns);

}  // namespace tidemark::viz
