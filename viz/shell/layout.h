// Layout: assigns the window to its parts, from its size and the positions of the splitters. Pure.
#pragma once

#include "viz/draw/canvas.h"

namespace tidemark::viz {

// Where the user has pulled the edges to, in points; folded parts take no room.
struct Splits {
    float side_width = 0;  // 0, as for the next one: not pulled, a size that suits the window
    float table_height = 0;
    float first_share = 0.55F;  // of two main views, the upper one's
    bool has_side = true;
    bool has_table = true;
    bool is_split = false;  // two main views
    float strip_height = 0;
    bool has_live = false;  // the figures of a live program
};

// In pixels. Empty boxes aren't drawn.
struct Layout {
    Box header;
    Box tabs;
    Box live;
    Box strip;
    Box first;   // main view
    Box second;  // the one below
    Box side;
    Box table_tabs;
    Box table;
    Box status;
    // What can be dragged: the gaps between parts.
    Box side_edge;
    Box table_edge;
    Box main_edge;
};

// Parts keep a readable size; in a window that is too small for all, tables give way first, then
// the side column.
Layout lay_out(float width, float height, float scale, float line_height, const Splits& splits);

}  // namespace tidemark::viz
