// A replay over tiers as an object within other JSON.
#pragma once

#include "replay/report/forms/json_values.h"
#include "replay/tiers/tier_run.h"

namespace tidemark::report {

// Its question and its figures, without lists, and without what differs from one computer to
// another: the same for everybody who replays it.
Json tier_figures(const TierRun& run);

}  // namespace tidemark::report
