// Reads a baseline: what `tidemark replay --json`, or `tidemark gate --write-baseline`, printed.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "replay/analysis/gate/gate.h"

namespace tidemark {

// `name` is its name in messages. Numbers at the top of the object are its figures; other keys are
// ignored, since other versions of the program have other keys. O(size). Errors (bad_input): not
// JSON, not an object, or not a run's.
Result<Baseline> read_baseline(std::string_view text, const std::string& name);

}  // namespace tidemark
