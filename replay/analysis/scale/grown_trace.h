// GrownTrace: a recorded program as it would be with steps of another size, and with more of them.
//
// The order of requests, lifetimes, streams and pools stay; the recorded placement, and requests
// that failed, are left out. A Trace; see there.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "replay/analysis/scale/recorded_steps.h"
#include "replay/analysis/scale/size_laws.h"
#include "traces/model/trace.h"

namespace tidemark {

// How a program grows.
struct GrowthPlan {
    ScaleFactors recorded = {};         // of the recorded steps that stay
    std::size_t before = 1;             // so many of them stay, and others follow
    std::vector<AddedStep> added = {};  // in order
    double unknown = 1;                 // SizeLaws::grown
};

class GrownTrace final : public Trace {
  public:
    // `trace` must outlive it, and what it was found to be. O(requests + events of added steps).
    GrownTrace(const Trace& trace, const StepRequests& requests, const SizeLaws& laws,
               const RecordedSteps& steps, GrowthPlan plan);

    const TraceInfo& info() const override { return info_; }

    // Its batches cost O(events) beyond those of `trace`.
    std::unique_ptr<TraceCursor> cursor() const override;

    std::uint64_t hash() const override { return grown(trace_.hash()); }

    std::uint64_t recorded_hash() const override { return grown(trace_.recorded_hash()); }

    // Writes all events to `sink`, except for what the recorded system decided and refused: that
    // had other sizes. Returns what finish() needs. O(events). Errors: of the trace and the sink.
    Result<TraceInfo> write(TraceSink& sink) const;

  private:
    std::uint64_t grown(std::uint64_t hash) const;
    AddedSteps added() const;

    const Trace& trace_;
    const StepRequests& requests_;
    const SizeLaws& laws_;
    const RecordedSteps& steps_;
    GrowthPlan plan_;
    std::vector<Bytes> sizes_;  // of each request of the steps that stay
    TraceInfo info_;
};

}  // namespace tidemark
