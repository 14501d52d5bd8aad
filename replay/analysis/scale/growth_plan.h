// Growth plans: which steps, of which sizes, a program has that is larger or longer than recorded.
#pragma once

#include "core/base/result.h"
#include "replay/analysis/scale/grown_trace.h"
#include "replay/analysis/scale/scale_model.h"

namespace tidemark {

constexpr double kLargestGrowth = 64;
constexpr unsigned kMostRunSteps = 1'000'000;

struct GrowthQuestion {
    ScaleFactors growth = {};
    unsigned steps = 0;  // of the whole run; 0 = as recorded
    // The recorded steps stay as they were, and one more comes that grows from the largest.
    bool one_more = false;

    bool grows() const { return growth.batch != 1 || growth.length != 1; }
};

// Each step has the order of requests of the recorded one that is of the nearest size; more steps
// are the recorded ones again and again, or where caches grow the last one, growing. Errors
// (bad_option): a growth that isn't above 0 and at most kLargestGrowth, or a growth of the length,
// if the recording doesn't distinguish it from the batch; fewer steps than recorded, or more than
// kMostRunSteps. O(steps).
Result<GrowthPlan> plan_growth(const ScaleModel& model, const GrowthQuestion& question);

}  // namespace tidemark
