// Our own pool instead of PyTorch's allocator (tidemark.torch.use), as a row of advice.
#pragma once

#include <string>

#include "replay/analysis/advise/search.h"

namespace tidemark {

// Whether a row is our own pool and available to the user: it has a line to write. Pure.
bool is_drop_in(const Tried& tried);

// What a program passes to tidemark.torch.use() for such a policy: without the defaults. Pure.
std::string drop_in_name(const PolicySpec& policy);

// The pool under the conditions of `setup`: as it is, or expecting the trace's peak if that is an
// improvement. `plain`: the result of `extent` where it serves everything. As under the call,
// PyTorch's own allocator serves private pools. Several devices have pools of their own with peaks
// of their own, so nothing is expected there. Two replays at most; O(events). Errors: as run_trial.
Result<Tried> try_drop_in(const Trace& trace, const SearchSetup& setup, const TrialResult& plain);

}  // namespace tidemark
