// The state of a run at an event, for the card under the mouse.
#pragma once

#include "replay/timeline/fragmentation_curve.h"
#include "viz/draw/frame.h"
#include "viz/model/timeline/timeline_columns.h"
#include "viz/views/hover_card.h"

namespace tidemark::viz {

// The four curves after `event`, the gaps between them, and the block of the event. Without
// `fragmentation`, or where that isn't known yet, fragmented memory counts as cached.
void describe_event(const Theme& theme, const History& history,
                    const FragmentationCurve* fragmentation, EventIndex event, HoverCard& card);

}  // namespace tidemark::viz
