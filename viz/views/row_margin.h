// RowMargin: the left edge of the address map: what each stretch of the axis is (a segment and its
// size, so many of them, a reservation), and the lines between them.
#pragma once

#include <string>

#include "replay/timeline/address_layout.h"
#include "viz/draw/canvas.h"

namespace tidemark::viz {

// Where offsets of a layout stand on the screen.
struct OffsetScale {
    Box box;
    Bytes bottom = 0;
    Bytes top = 1;

    float y(Bytes offset) const;   // far outside is just outside
    Bytes offset(float at) const;  // clamped to the box
};

// Labels left of scale.box as far as they have room; rows too thin for one are counted together.
// O(rows in sight that are a pixel high, at most the pixels).
void draw_row_labels(Canvas& canvas, const OffsetScale& scale, const AddressLayout& layout,
                     const History& history);

// Lines where rows meet and where a row leaves out addresses, over the map.
void draw_row_lines(Canvas& canvas, const OffsetScale& scale, const AddressLayout& layout);

// "segment of 20.0 MiB", "reservation, 1.2 GiB of it ever mapped", "7 segments at these addresses".
std::string row_text(const AddressRow& row);

}  // namespace tidemark::viz
