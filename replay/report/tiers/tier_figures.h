// A replay over tiers as an object within other JSON.
#pragma once

#include "replay/report/forms/json_values.h"
#include "replay/tiers/tier_run.h"

namespace tidemark::report {

// Its question and its figures, without lists, and without values that differ between computers:
// every replay gives the same.
Json tier_figures(const TierRun& run);

}  // namespace tidemark::report
