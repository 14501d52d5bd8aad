// The filter bar: the line above a list that shows which blocks pass: chips for size and stream,
// one for the search (typed into the window's own search box), and at its right the result. Writes
// the selection's filter, which all views share.
#pragma once

#include <span>
#include <string_view>

#include "viz/draw/frame.h"

namespace tidemark::viz {

// Draws into the top of `box`, from `left` on, and returns what is left below. `total` is at the
// right, as far as there is room.
Box draw_filter_bar(Frame& frame, const Box& box, float left, const History& history,
                    std::string_view total);

// A row of exclusive choices drawn as a segmented button at `at`; returns the chosen one. `id`
// tells rows of one window apart.
std::size_t choose(Frame& frame, ImVec2 at, const char* id, std::span<const std::string_view> names,
                   std::size_t chosen, float& right);

}  // namespace tidemark::viz
