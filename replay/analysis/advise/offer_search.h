// The search where the recorded system's user has a few choices (policy_offers) instead of
// PYTORCH_ALLOC_CONF: each is replayed once, and judged by the rules of search.h.
#pragma once

#include <vector>

#include "replay/analysis/advise/search.h"

namespace tidemark {

// `policies` are replayed in that order, in `setup`'s conditions; without any, the answer is the
// base's result. Only the best of one policy's settings is listed. Errors: those of the base, of a
// damaged trace. O(policies * events).
Result<SearchResult> search_offers(const Trace& trace, const SearchSetup& setup,
                                   const std::vector<PolicySpec>& policies);

}  // namespace tidemark
