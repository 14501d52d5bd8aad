// offline_bound: the figure of `tidemark bound` for other commands: a sum over the GPUs of a trace,
// under the same question (alignment, seed, iterations), so it is the same number.
#pragma once

#include <functional>
#include <optional>

#include "core/base/result.h"
#include "replay/analysis/bound/packing.h"
#include "traces/model/trace.h"

namespace tidemark {

struct OfflineBound {
    Bytes lower = 0;     // the most bytes that are live at once: no allocator needs less
    bool waits = false;  // in the recorded timing: frees waited for the device
    // As low as an allocator that knew the whole run packed them; none without a search, or if it
    // was stopped.
    std::optional<Bytes> packed = {};
};

struct OfflineQuestion {
    bool search = false;   // as `tidemark bound` does, for seconds to minutes
    unsigned threads = 0;  // 0 = one for each core
    // Ends a search, which then gives no `packed`. May be empty.
    std::function<bool()> stop = {};
};

// Errors: those of the cursor. O(events) without a search.
Result<OfflineBound> offline_bound(const Trace& trace, const OfflineQuestion& question);

}  // namespace tidemark
