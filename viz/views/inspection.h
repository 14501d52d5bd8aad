// What the tables and the inspector share: whose blocks they show, when, and what happens when the
// mouse is over a row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "viz/draw/frame.h"
#include "viz/model/blocks/site_names.h"
#include "viz/views/hover_card.h"

namespace tidemark::viz {

// The history of the run that is shown; null if it has none.
std::shared_ptr<const History> shown_history(const Frame& frame);

enum class Shown : std::uint8_t { nothing, the_same, another };

// Keeps what a view needs of the shown run: its history, and the names of its sites. Returns
// whether the run has changed; if it has no history, both stay as they are.
Shown follow_shown(const Frame& frame, std::shared_ptr<const History>& history,
                   std::unique_ptr<SiteNames>& names);

// Instead of a view where there is no history: why, and what to do.
void draw_no_history(Frame& frame);

// "at the cursor, 1.20 s", "at the peak, 1.20 s (click in a plot to look elsewhere)", "between the
// two cursors".
std::string when_text(const History& history, const Frame& frame);

// The same for the cursor alone, regardless of the measured range.
std::string cursor_text(const History& history, const Frame& frame);

// The mouse is over a block: all views show which one, Ctrl-C copies what it is.
void point_at_block(Frame& frame, const History& history, SiteNames& names, BlockIndex block);

// The rows with a block's size and lifetime, as the program and the device see it.
void add_life(HoverCard& card, const History& history, const Block& block, Colour colour);

// Puts the cursor on an event and moves the camera as little as is needed to show it.
void go_to_event(Frame& frame, const History& history, EventIndex event);

// Selects the block, and shows its lifetime with some room on both sides.
void show_life(Frame& frame, const History& history, BlockIndex block);

// When an event was: "1.20 s", in a run without times "event 4,211".
std::string event_time_text(const History& history, EventIndex event);

// The age of a block at `event`: "1.20 s", in a run without times "4,211 events".
std::string age_text(const History& history, EventIndex born, EventIndex event);

}  // namespace tidemark::viz
