// Our own pool in PyTorch's stead (tidemark.torch.use), as a row of advice.
#pragma once

#include "replay/analysis/advise/search.h"

namespace tidemark {

// Whether a row is one of our own pool that its user can have: it has a line to write. Pure.
bool is_drop_in(const Tried& tried);

// The pool under the conditions of `setup`: as it is, of which `plain` is the outcome, or expecting
// the peak that the trace has where that is an improvement over it. Several devices have pools of
// their own with peaks of their own, so nothing is expected there. One replay; O(events). Errors:
// as run_trial.
Result<Tried> try_drop_in(const Trace& trace, const SearchSetup& setup, const TrialResult& plain);

}  // namespace tidemark
