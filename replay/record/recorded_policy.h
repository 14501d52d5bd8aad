// The policy that a trace was recorded under, as far as Tidemark has it: what `replay` runs when no
// --policy is given, and what `verify` compares with the recorded decisions.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

struct RecordedPolicy {
    std::string text;                   // "torch:garbage_collection_threshold=0.6"
    std::vector<std::string> warnings;  // recorded settings that the policy cannot follow
    // Why this policy was chosen, as a sentence, if the file doesn't say it; "" = it does.
    std::string assumed = {};
};

// Settings at their defaults are left out. Errors (bad_option, --policy): the source names no
// system, or one that no policy models. O(settings).
Result<RecordedPolicy> recorded_policy(const TraceInfo& info);

}  // namespace tidemark
