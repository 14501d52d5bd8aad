// Findings as JSON: typed, with the same wording as elsewhere. Pure.
#pragma once

#include <span>

#include "replay/findings/finding.h"
#include "replay/report/forms/json_values.h"

namespace tidemark::report {

// The array `findings` of docs/json.md. O(findings).
Json findings_json(std::span<const findings::Finding> list);

}  // namespace tidemark::report
