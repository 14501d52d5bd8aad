// A recording without a history: a snapshot that was dumped although nothing was recorded. It holds
// the state at one moment: segments, blocks, free memory. It doesn't show what the program did, and
// so not what it would have done under other settings.
//
// Pure.
#pragma once

#include <string>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark::facts {

// What to type for a recording with a history, for the system that `info` is of. O(settings).
std::string how_to_record(const TraceInfo& info);

// For commands that replay: an Error (unsupported), with that line as its hint, if there is nothing
// to replay. O(settings).
Result<void> need_history(const TraceInfo& info);

}  // namespace tidemark::facts
