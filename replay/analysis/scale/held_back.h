// HeldBack: the largest step of a recording, predicted from the others. The difference to the
// recorded step shows how accurate an answer about a larger one may be.
#pragma once

#include <cstddef>
#include <optional>

#include "core/base/result.h"
#include "replay/analysis/scale/grown_trace.h"
#include "replay/analysis/scale/recorded_steps.h"
#include "replay/analysis/scale/size_laws.h"
#include "replay/analysis/scale/step_requests.h"
#include "traces/model/trace.h"

namespace tidemark {

struct HeldBack {
    SizeLaws laws;        // learned without the step
    RecordedSteps steps;  // what came before it; the step, and the largest of the others
    std::size_t step = 0;
    ScaleFactors growth;  // of the step, to the largest of the others

    // The program up to the step, which is predicted, or as it was recorded.
    GrowthPlan predicted() const { return {.before = step, .added = {{laws.reference, growth}}}; }

    GrowthPlan recorded() const { return {.before = step, .added = {{step, {}}}}; }
};

// None if too few steps of different sizes are left to learn from, or the step is no larger than
// others. `laws` are those of all steps. O(events) and what find_size_laws costs. Errors: those of
// the cursor.
Result<std::optional<HeldBack>> hold_back(const Trace& trace, const StepRequests& requests,
                                          const SizeLaws& laws);

}  // namespace tidemark
