// Still: one picture of the viewer, as its window would show it once all its background work is
// done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "viz/headless/offscreen.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

struct StillOptions {
    OffscreenOptions screen;
    bool dark = true;
    std::vector<std::string> views;  // opened one after the other, see Shell::show
    std::string find;                // searched for, see Shell::find
    std::string location;            // gone to, see Shell::go; empty: the whole run
};

constexpr std::uint32_t kSmallestStill = 64;  // pixels, in either direction
constexpr std::uint32_t kLargestStill = 8192;

// `session` must be loaded. Errors: bad_option (a size out of bounds, an invalid location or
// query), not_found (no such view).
Result<Bitmap> draw_still(Session& session, const StillOptions& options);

}  // namespace tidemark::viz
