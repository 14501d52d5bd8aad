// From a snapshot's contents to events: the preamble, the traces of all devices merged by time, and
// the state at the dump.
#pragma once

#include <string>

#include "core/base/result.h"
#include "traces/model/trace.h"
#include "traces/readers/torch_contents.h"

namespace tidemark::torch {

// Appends the events to `sink` and completes `info`. info.cut_off: the file ended early, so the
// last entries and the way to the state at the dump are missing. Errors: those of the sink;
// bad_input (where = `name`) for entries without their fields unless options.lenient, and for any
// anomaly if options.strict. O(entries); memory O(live + contexts) in addition to the contents.
Result<void> write_events(Records& records, Contents& contents, TraceSink& sink,
                          const ReadOptions& options, const std::string& name, TraceInfo& info);

}  // namespace tidemark::torch
