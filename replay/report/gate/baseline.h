// A baseline read: what `tidemark replay --json`, or `tidemark gate --write-baseline`, printed.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "replay/analysis/gate/gate.h"

namespace tidemark {

// `name` is what messages call it. Numbers at the top of the object are its figures, whatever else
// there is is let pass: other versions of the program have other keys. O(size). Errors
// (bad_input): no JSON, no object, or none of a run.
Result<Baseline> read_baseline(std::string_view text, const std::string& name);

}  // namespace tidemark
