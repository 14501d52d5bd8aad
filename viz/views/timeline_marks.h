// The marks of a run above its curves: out of memory, retries, emptied caches, the program's
// points, lost events. Each kind has a letter and a colour; marks that would cover each other are
// one with a number.
#pragma once

#include <optional>

#include "viz/draw/time_area.h"
#include "viz/model/timeline/mark_positions.h"
#include "viz/views/hover_card.h"

namespace tidemark::viz {

// The row's height in pixels; 0 if the run has no marks so far.
float marks_height(const Canvas& canvas, const MarkPositions& marks);

// Draws them into `row`, and lines of the grave ones through `plot`. The mark under `mouse` goes to
// `card`; returns its event.
std::optional<EventIndex> draw_marks(Frame& frame, const TimeArea& area, const History& history,
                                     const MarkPositions& marks, const Box& row, const Box& plot,
                                     std::optional<ImVec2> mouse, HoverCard& card);

}  // namespace tidemark::viz
