// Bookmarks over a time axis: a flag at the top of each one's line, its name where there is room,
// and a bar along the top of a stretch.
#pragma once

#include <functional>

#include "viz/draw/frame.h"

namespace tidemark::viz {

// Those that `to_x` puts into `box`; names stand below its top, but in a box that is too low for a
// line of text. Where flags would lie on each other there is one. O(bookmarks).
void draw_bookmark_flags(Canvas& canvas, const Box& box,
                         const std::vector<PlacedBookmark>& bookmarks,
                         const std::function<float(Position)>& to_x);

}  // namespace tidemark::viz
