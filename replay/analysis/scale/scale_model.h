// ScaleModel: what a recording shows about how its program grows, found once for all questions.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "replay/analysis/scale/held_back.h"
#include "replay/analysis/scale/recorded_steps.h"
#include "replay/analysis/scale/size_laws.h"
#include "replay/analysis/scale/step_requests.h"
#include "traces/model/trace.h"

namespace tidemark {

struct ScaleModel {
    StepRequests requests;
    SizeLaws laws;
    RecordedSteps steps;  // all but the first, to come behind the first, or behind all
    std::optional<HeldBack> held_back;
};

// O(events), memory too; see find_size_laws. Errors: those of it and of the trace; unsupported: one
// that begins inside its first step has no two whole ones.
Result<ScaleModel> find_scale(const Trace& trace);

}  // namespace tidemark
