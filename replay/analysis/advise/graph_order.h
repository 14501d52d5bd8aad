// GraphOrder: the same program with its graphs captured in another order, the largest first. Memory
// that a capture frees serves the next one of its pool, if that needs no larger blocks.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// The trace with its captures (from `pool_begin` to `pool_end`) by falling peak of requested bytes,
// each at the time of the one that it replaces. Null: they are in that order already, or the order
// can't change, since blocks of one are freed or used before the last is captured; or the trace has
// several devices, waits for streams or is long. O(events) time and memory. Errors: those of the
// cursor.
Result<std::unique_ptr<Trace>> largest_graph_first(const Trace& trace);

}  // namespace tidemark
