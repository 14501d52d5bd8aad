// Frame: everything that a view may read and change while it draws.
#pragma once

#include "viz/draw/canvas.h"
#include "viz/model/blocks/block_search.h"
#include "viz/model/blocks/measured_range.h"
#include "viz/model/session/camera.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// What the mouse does to a part of a view.
struct Press {
    bool clicked = false;
    bool hovered = false;
};

struct Frame {
    const Session& session;
    Camera& camera;
    Selection& selection;
    const BlockSearch& search;  // of the selection's filter in the shown run
    Canvas canvas;              // theme, fonts and scale; drawing into the current window
    Box area;                   // where to draw, in pixels
    bool still = false;    // a picture for a file: no mouse, nothing animated, jobs are waited for
    bool replays = false;  // a replay can be requested: Selection::wanted_policy
    bool opens = false;    // files can be opened: Selection::wants_file
    const MeasuredRange* measured = nullptr;  // of the shown run
    SelectableTexts* texts = nullptr;         // gets what may be selected; null: nobody needs it

    // The run that is shown; there is one.
    const ViewedRun& run() const { return session.runs[selection.run]; }

    // Takes the mouse over `box`; `id` and `index` identify the parts of one window.
    Press press(const Box& box, const char* id, std::size_t index = 0) const;
};

}  // namespace tidemark::viz
