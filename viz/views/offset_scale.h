// OffsetScale: maps offsets of an address layout to the screen: the lowest at the top, as in "At
// the cursor".
#pragma once

#include <algorithm>

#include "core/base/units.h"
#include "viz/draw/canvas.h"

namespace tidemark::viz {

struct OffsetScale {
    Box box;
    Bytes begin = 0;  // at the box's top
    Bytes end = 1;    // at its bottom

    // Distant positions count as just outside.
    float y(Bytes offset) const {
        const double share = (static_cast<double>(offset) - static_cast<double>(begin)) /
                             static_cast<double>(end - begin);
        return static_cast<float>(static_cast<double>(box.top) +
                                  std::clamp(share, -1.0, 2.0) * static_cast<double>(box.height()));
    }

    // Clamped to the box.
    Bytes offset(float at) const {
        const double share = static_cast<double>((at - box.top) / std::max(box.height(), 1.0F));
        const double within = std::clamp(share, 0.0, 1.0) * static_cast<double>(end - begin);
        return std::min(begin + static_cast<Bytes>(within), end - 1);
    }
};

}  // namespace tidemark::viz
