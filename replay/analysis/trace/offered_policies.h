// What the user of the recorded system can choose, for comparisons of policies.
#pragma once

#include <string>
#include <vector>

#include "traces/model/trace.h"

namespace tidemark {

// policy_offers of the trace, few of each policy (kOffersToCompare), as policies print themselves;
// empty if the settings are searched, or nothing is offered. O(events) if something is, else
// O(keys). Errors: those of reading the trace.
Result<std::vector<std::string>> offered_policies(const Trace& trace);

}  // namespace tidemark
