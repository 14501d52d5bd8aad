// ExplainedTrace: a recorded trace with what verify inferred put in, so that a replay of it under
// other settings is a replay of the whole program: the caches that the program emptied, the private
// pools that ended, and the pool of each request.
//
// A snapshot says none of this. Entries about segments, which replays skip, make room for the
// inferred events, so every event keeps its index. A Trace; see there.
#pragma once

#include <functional>
#include <memory>

#include "core/base/result.h"
#include "replay/record/verify.h"
#include "traces/model/trace.h"

namespace tidemark {

// `trace` itself if nothing needs to be inferred or can be: it records no decisions, its policy has
// no model, or the model does not reproduce the record (less than all but a thousandth of it). Else
// an ExplainedTrace that owns it; its info() names inferred pools and warns of what replays cannot
// follow (a limit that the program had set, settings that it switched). O(events). Errors: of a
// damaged trace.
Result<std::unique_ptr<Trace>> explain_trace(
    std::unique_ptr<Trace> trace, const std::function<void(std::uint64_t events_done)>& progress);

}  // namespace tidemark
