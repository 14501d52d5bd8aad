// The answer of `advise` in a sentence or two: what to do, and what that saves. Text, JSON, page
// and Python start with it.
#pragma once

#include <string>

#include "replay/analysis/advise/advise.h"

namespace tidemark {

// "Set expandable_segments:True: no out-of-memory errors instead of 5, peak 5.93 GiB instead of
// 5.99 GiB, 20 ms more in the driver." "" for a state, which can't be replayed. May contain text of
// the trace. O(growths).
std::string advice_verdict(const TraceInfo& info, const Advice& advice);

}  // namespace tidemark
