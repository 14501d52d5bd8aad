// StateDump: what allocators held, in the form of a PyTorch memory snapshot: segments with their
// blocks, no history. memory_viz and our viewer can show it.
#pragma once

#include <string>

#include "replay/report/forms/model.h"
#include "replay/scenario/held_state.h"
#include "replay/scenario/scenario.h"
#include "traces/model/trace.h"

namespace tidemark {

// The snapshot as JSON, or as a pickle (the same dict). Streams are the program's handles, blocks
// have the call stacks of their requests. Besides PyTorch's keys there are those of its origin
// ("tidemark", "command", "policy", "event"). docs/json.md has the keys. Pure; O(regions * frames).
std::string state_dump(const HeldState& state, const Run& run, const TraceInfo& info,
                       const Provenance& provenance, bool as_pickle);

// The same as a listing, one piece per line, in order of address. For a policy that keeps addresses
// reserved, it includes those without memory, with their sums. Pure; O(regions).
std::string state_listing(const HeldState& state, const Run& run);

}  // namespace tidemark
