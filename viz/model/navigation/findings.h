// Findings for the list: what is worth a look in a run, as text and with the event to go to.
// replay/findings decides what is found, and how urgent it is; the texts are the report's. |
//
// Thread-safe; meant for a worker's thread.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/advise/advise.h"
#include "traces/model/trace.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// What the run with that history shows by itself, most urgent first; a growing history as it is
// now. O(events / 64 + live blocks * findings). Cancelled: nothing.
std::vector<Finding> findings_of_history(const History& history, const Cancelled& cancelled);

// What `advise` says of a run: its sentence, and the list.
struct AdvisedFindings {
    std::string verdict;
    std::vector<Finding> findings;
};

// With the results of `advise` for the trace with that `info`; `policy` is the run's, as
// understood.
AdvisedFindings findings_of(const History& history, const std::string& policy,
                            const TraceInfo& info, const Advice& advice,
                            const Cancelled& cancelled);

// Runs `advise` on the trace. Errors: advise's; cancelled, soon after the request.
Result<Advice> cancellable_advice(const Trace& trace, const AdviseOptions& options,
                                  const Cancelled& cancelled);

}  // namespace tidemark::viz
