// Runs over tiers, compared: they have no addresses and curves for the comparing view to draw, but
// figures.
#pragma once

#include "viz/draw/frame.h"
#include "viz/draw/table.h"

namespace tidemark::viz {

// How many of the runs are over tiers, and done.
std::size_t tier_runs(const Session& session);

// A line for each: its memory and its costs. The first one is the baseline.
void draw_tier_comparison(Frame& frame, VirtualTable& table);

}  // namespace tidemark::viz
