// Navigation: what keys do to camera and selection: events one by one, findings and marks in their
// order, the other axis, the selected stretch. Pure except for what it is asked to change.
#pragma once

#include <optional>
#include <string>

#include "viz/model/blocks/block_search.h"
#include "viz/model/session/camera.h"
#include "viz/model/session/session.h"
#include "viz/model/timeline/step_index.h"

namespace tidemark::viz {

// The run's last moment or event: the end of its axis; 0 if it has none of that unit (runs over
// tiers have no events).
Position end_of(const ViewedRun& run, AxisUnit unit);

// The longest run's. At least 1.
Position extent_of(const Session& session, AxisUnit unit);

// Moves the cursor by that many events of the shown run, from its position or the middle of the
// window, and keeps it in view. False if there are none. O(log events).
bool step_events(const Session& session, Camera& camera, Selection& selection, std::int64_t by);

// Something worth a stop: a finding or a mark in the run.
struct Stop {
    Position position = 0;
    std::string what;  // one line
    BlockIndex block = kNoBlock;
};

// The first stop beyond the cursor (before it if not `forward`) in the shown run; none if there is
// no other. O(findings + log marks).
std::optional<Stop> next_stop(const Session& session, const Camera& camera,
                              const Selection& selection, bool forward);

// The first step that starts beyond the cursor (before it if not `forward`) in the shown run, whose
// steps these are; none if there is no other. O(log steps).
std::optional<Stop> next_step(const StepIndex& steps, const Session& session, const Camera& camera,
                              const Selection& selection, bool forward);

// Goes to the next hit, or the one before: to the allocation of the block, which is selected. The
// starting point is the selected block if it is a hit and the cursor is at its allocation, else the
// cursor, else the window's edge. Can be undone. None if nothing was found yet. O(log events).
std::optional<Hit> go_to_hit(const BlockSearch& search, const Session& session, Camera& camera,
                             Selection& selection, bool forward);

// Puts the cursor there, and keeps it in view.
void put_cursor(Camera& camera, Selection& selection, Position position);

// Changes between time and events; window, cursor and measured stretch are converted. False if the
// shown run has no other axis. O(log events).
bool toggle_axis(const Session& session, Camera& camera, Selection& selection);

// Undoes navigation, or redoes it. The selection stays, on whichever axis, unless the step went
// somewhere (a hit, a location, a finding): then cursor and block are restored. False if there is
// nothing to undo.
bool go_back(const Session& session, Camera& camera, Selection& selection, bool forward);

// The measured stretch, else the lifetime of the selected block, with a margin.
std::optional<Window> selected_stretch(const Session& session, const Camera& camera,
                                       const Selection& selection);

// What the window shows: "1.2 s to 1.4 s (200 ms, 41,202 events)".
std::string window_text(const Session& session, const Camera& camera, const Selection& selection);

// The state at the looked-at position, a line for each curve: what copying gives by default. Empty
// if there is nothing.
std::string state_text(const Session& session, const Camera& camera, const Selection& selection);

}  // namespace tidemark::viz
