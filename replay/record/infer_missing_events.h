// infer_missing_events: the stage between reading a recording and replaying it. A snapshot does not
// say when the program emptied its caches, which private pools ended, and which pool a request was
// for; the model of the recorded allocator, checked against every recorded decision (verify), shows
// it.
//
// Inferred events are inserted, so that a replay under other settings is a replay of the whole
// program. They replace entries about segments, which replays skip, so every event keeps its index.
// The trace's hash is then that of the events as they are now; recorded_hash() stays that of the
// recording.
//
//     TM_ASSIGN(std::unique_ptr<Trace> trace, open_trace("snapshot.pickle"));
//     TM_ASSIGN(trace, infer_missing_events(std::move(trace), {}));
#pragma once

#include <functional>
#include <memory>

#include "core/base/result.h"
#include "replay/record/verify.h"
#include "traces/model/trace.h"

namespace tidemark {

// `trace` itself if it records no decisions or its policy has no model. If the model differs from
// the recording in more than a thousandth of the decisions, nothing is inferred and a warning says
// so. Else what was inferred is in the trace, and explained_record() has it; its info() names
// inferred pools and warns of what replays cannot follow (settings that the program switched).
// O(events). Errors: of a damaged trace.
Result<std::unique_ptr<Trace>> infer_missing_events(
    std::unique_ptr<Trace> trace, const std::function<void(std::uint64_t events_done)>& progress);

}  // namespace tidemark
