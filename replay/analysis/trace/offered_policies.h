// What the user of the recorded system can choose, for who compares policies.
#pragma once

#include <string>
#include <vector>

#include "traces/model/trace.h"

namespace tidemark {

// policy_offers of the trace, few of each policy (kOffersToCompare), as policies print themselves;
// empty where that is searched, or nothing is offered. O(events) where something is, else O(keys).
// Errors: those of reading the trace.
Result<std::vector<std::string>> offered_policies(const Trace& trace);

}  // namespace tidemark
