// The steps of a run over its curves: a tick for each, with its number where there is room, else
// every 2nd, 5th, 10th, ..., and a thin line through the plot at the start of a numbered one.
#pragma once

#include <optional>

#include "viz/draw/time_area.h"
#include "viz/model/timeline/step_index.h"
#include "viz/views/hover_card.h"

namespace tidemark::viz {

// Every how many steps are numbered, of which there are `count` on `pixels`, if a number takes
// `label` pixels: 1, 2, 5, 10, 20, ...
std::uint64_t step_stride(std::size_t count, float pixels, float label);

// The row's height in pixels; 0 if the run has no steps so far.
float steps_height(const Canvas& canvas, const StepIndex& steps);

// Draws them into `row` and their lines through `plot`. The step under `mouse` goes to `card`.
// O(pixels * log steps).
void draw_steps(Frame& frame, const TimeArea& area, const StepIndex& steps, const Box& row,
                const Box& plot);
void describe_step(Frame& frame, const TimeArea& area, const StepIndex& steps, ImVec2 mouse,
                   HoverCard& card);

}  // namespace tidemark::viz
