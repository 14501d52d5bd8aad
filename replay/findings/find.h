// The one place where findings are made: from the runs of a trace and from what `advise` found in
// it. Pure and thread-safe.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "replay/analysis/advise/advise.h"
#include "replay/findings/finding.h"
#include "replay/scenario/scenario.h"

namespace tidemark::findings {

// A run of the trace. Null parts are not examined.
struct FoundRun {
    std::string label;
    std::string policy;  // as understood, "torch:max_split_size_mb=128"
    const History* history = nullptr;
    const Run* run = nullptr;
};

struct Source {
    const TraceInfo* info = nullptr;  // null: only what the runs show
    const Advice* advice = nullptr;
    std::span<const FoundRun> runs = {};
};

// Most urgent first. Advice about the policy of a run replaces findings of the same kind from the
// run's history, because advice knows the regions. A growing history is read as it is at the call.
// If cancelled: the findings so far. O(events / 64 + live blocks * findings).
std::vector<Finding> find(const Source& source, const std::atomic<bool>& cancelled);
std::vector<Finding> find(const Source& source);

// The parts of it.
std::vector<Finding> from_history(const History& history, const std::atomic<bool>& cancelled);
std::vector<Finding> from_advice(const TraceInfo& info, const Advice& advice);

// Where in the program's ranges a moment is: "in step (3 of 8)", "after optimizer (2 of 8)"; "" if
// the trace has no ranges before it.
std::string range_text(const TraceInfo& info, const PeakSnapshot& snapshot, const Moment& moment);

}  // namespace tidemark::findings
