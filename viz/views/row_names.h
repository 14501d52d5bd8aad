// Row names: what each row of the address map is (a segment and whose it is, a reservation, blocks
// alone), as text where there is room, and the lines between rows.
#pragma once

#include <string>
#include <vector>

#include "replay/timeline/address_layout.h"
#include "viz/views/offset_scale.h"

namespace tidemark::viz {

// At the left end of each row that is high enough, over the map.
// O(rows in view that are a pixel high, at most the pixels).
void draw_row_names(Canvas& canvas, const OffsetScale& scale, const AddressLayout& layout,
                    const History& history);

// Lines where rows meet and where a row leaves out addresses, over the map.
void draw_row_lines(Canvas& canvas, const OffsetScale& scale, const AddressLayout& layout);

// The ways to say what a row is, the longest first: "segment 3 at 0x7f3a80000000, 512 MiB, pool 0,
// stream 7", "segment 3, 512 MiB, pool 0, stream 7", "segment 3, 512 MiB", "512 MiB". O(log n).
std::vector<std::string> row_names(const History& history, const AddressRow& row);

// "segment of 20.0 MiB", "reservation, 1.2 GiB of it ever mapped", "7 segments at these addresses".
std::string row_text(const AddressRow& row);

}  // namespace tidemark::viz
