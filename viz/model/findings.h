// Findings: what is worth a look in a run, in words and with the event to go to. What a history
// shows by itself costs one pass over it; what `advise` says costs many replays of the trace.
//
// Pure and thread-safe; meant for a worker's thread. Strings that come from files are made
// printable. Texts are a title of one line and a detail of a few sentences, lines parted by '\n'.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "replay/analysis/advise.h"
#include "traces/model/trace.h"
#include "viz/model/job.h"
#include "viz/model/session.h"

namespace tidemark::viz {

// Without a replay: refusals, more allocated than there is, reserved memory close to the limit, a
// large gap that stays, fragmentation where memory was refused and at the peak, small blocks that
// hold up segments, lost events. Most urgent first. What is there when it's called is looked at, of
// a growing history as well. O(events / 64 + live blocks * findings), cancelled: what it has.
std::vector<Finding> findings_of_history(const History& history, const Cancelled& cancelled);

// The words for what `advise` found in the trace with that `info`; most urgent first.
std::vector<Finding> findings_of_advice(const TraceInfo& info, const Advice& advice);

// Runs `advise` on the trace. Errors: advise's; cancelled, soon after it was.
Result<std::vector<Finding>> advised_findings(const Trace& trace, const AdviseOptions& options,
                                              const Cancelled& cancelled);

// Both lists as one, most urgent first, in each weight those with an event first.
std::vector<Finding> joined_findings(std::vector<Finding> first, std::vector<Finding> second);

}  // namespace tidemark::viz
