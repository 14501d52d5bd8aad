// A recording without history: a snapshot that was dumped though nothing was recorded. It holds the
// state at one moment: segments, blocks, what is free. What a program did, and so what it would
// have done under other settings, it doesn't say.
//
// Pure.
#pragma once

#include <string>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark::facts {

// What to type for a recording with a history, for the system that `info` is of. O(settings).
std::string how_to_record(const TraceInfo& info);

// For what replays: an Error (unsupported), with that as its hint, where there is nothing to
// replay. O(settings).
Result<void> need_history(const TraceInfo& info);

}  // namespace tidemark::facts
