// The address map's ruler, left of it: how many bytes of laid-out memory are above; at close zoom,
// where everything in view is one stretch of addresses, the addresses.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replay/timeline/address_layout.h"
#include "viz/views/offset_scale.h"

namespace tidemark::viz {

struct AddressTick {
    Bytes offset = 0;  // of the layout
    std::string label;
};

struct AddressTicks {
    std::vector<AddressTick> ticks;  // rising
    // The common start of the addresses, "0x7f3a80…", which the labels, "…208000", leave out;
    // empty: the labels are offsets.
    std::string base;
};

// Over [begin, end) of the layout's axis, about `most` of them. Pure; O(most + log pieces).
AddressTicks address_ticks(const AddressLayout& layout, Bytes begin, Bytes end, std::size_t most);

void draw_address_ruler(Canvas& canvas, const OffsetScale& scale, const AddressLayout& layout);

}  // namespace tidemark::viz
