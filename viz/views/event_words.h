// What a run was doing at an event, for the card under the mouse.
#pragma once

#include "viz/draw/frame.h"
#include "viz/model/timeline_columns.h"
#include "viz/views/hover_card.h"

namespace tidemark::viz {

// The four curves after `event`, the gaps between them, and what the event is about.
void describe_event(const Theme& theme, const History& history, EventIndex event, HoverCard& card);

}  // namespace tidemark::viz
