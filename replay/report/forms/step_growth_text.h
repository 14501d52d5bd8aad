// What grows from step to step, as part of a sentence.
#pragma once

#include <string>

#include "replay/analysis/trace/step_growth.h"

namespace tidemark {

// "live memory of train.py:40 grows by 12.0 MiB a step, from 12.0 MiB to 1.17 GiB". `by_site`: the
// trace has stacks; else names are sizes. `step` is what a step is called. May contain text of the
// trace. Pure.
std::string step_growth_text(const StepGrowth& growth, bool by_site,
                             std::string_view step = "step");

}  // namespace tidemark
