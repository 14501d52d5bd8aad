// Candidates: the settings that a recording was made under, and the settings to compare with them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/allocator/spec.h"
#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

struct Candidate {
    PolicySpec policy;
    bool recorded = false;
};

// The recorded settings first, if they are known, then `texts`; each once. `notes` gets sentences
// about the recorded ones. Errors: those of parse_policy.
Result<std::vector<Candidate>> beside_recorded(const TraceInfo& info,
                                               std::span<const std::string> texts,
                                               std::vector<std::string>& notes);

}  // namespace tidemark
