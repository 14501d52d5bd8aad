// Runs over tiers beside each other: the view that compares has no addresses and curves of theirs
// to lay over each other, but figures.
#pragma once

#include "viz/draw/frame.h"
#include "viz/draw/table.h"

namespace tidemark::viz {

// How many of the runs are over tiers, and done.
std::size_t tier_runs(const Session& session);

// A line for each: what its memory is, what it cost. The first one is what others are compared
// with.
void draw_tier_comparison(Frame& frame, VirtualTable& table);

}  // namespace tidemark::viz
