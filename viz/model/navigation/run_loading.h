// The work of a loader, step by step, on the thread that calls it: opening a trace, replaying it,
// each with progress reports. For loader.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "replay/scenario/record_history.h"
#include "replay/tiers/tier_run.h"
#include "viz/model/navigation/loader.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

// How far a step is: 0 to 1 of all that its run takes, and what is done.
using ReportProgress = std::function<void(double share, const std::string& activity)>;

// A trace that is looked at: of several GPUs cut down to one.
struct OpenedForView {
    std::shared_ptr<const Trace> trace;
    std::size_t gpu = 0;
    std::size_t gpus = 1;
};

// Opens `path`, and adds what a recording leaves out if it can be inferred. Its share of the whole
// ends at kOpened. Errors: those of open_trace; cancelled; bad_option (no such GPU).
Result<OpenedForView> open_for_view(const std::string& path, const LoadRequest& request,
                                    const ReportProgress& report, const Cancelled& cancelled);

constexpr double kOpened = 0.3;

using HistoryBegun = std::function<void(std::shared_ptr<const History>)>;

// Replays under `policy` ("" = as recorded; if the trace doesn't name its policy, under torch's
// defaults, with a warning). Errors: record_history's.
Result<RecordedRun> record_for_view(const Trace& trace, const LoadRequest& request,
                                    const std::string& path, const std::string& policy,
                                    const HistoryBegun& begun, const ReportProgress& report,
                                    const Cancelled& cancelled);

// Whether what is shown as recorded is under a policy that the file doesn't name. O(settings).
bool has_assumed_policy(const TraceInfo& info, const std::string& policy);

// One combination of tiers' options: as planned_runs lists them.
struct TierChoice {
    std::string gpu_memory;  // "" = the machine's
    std::string spill;       // "" = lru
};

std::vector<TierChoice> tier_choices(const TierRequest& request);

// Errors: those of the options, of make_tier_program and run_tiers.
Result<TierRun> tiers_for_view(const Trace& trace, const LoadRequest& request,
                               const std::string& path, const TierChoice& choice,
                               const ReportProgress& report);

// The last part of a path, or what people call the file otherwise.
std::string file_label(const std::string& path);

// Checks the names of a run before its file is read. Errors: unknown names, bad values.
Result<void> check_policy(const std::string& policy);
Result<void> check_tiers(const TierRequest& request, const TierChoice& choice);

}  // namespace tidemark::viz
