// GrownTrace: a recorded program as it would be with steps of another size.
//
// The order of requests, lifetimes, streams and pools stay; where the recorded system put things,
// and what it refused, is left out. A Trace; see there.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "replay/analysis/scale/size_laws.h"
#include "traces/model/trace.h"

namespace tidemark {

class GrownTrace final : public Trace {
  public:
    // `trace` must outlive it, and `requests` and `laws` be its own. O(requests).
    GrownTrace(const Trace& trace, const StepRequests& requests, const SizeLaws& laws,
               const ScaleFactors& growth, UnknownSizes unknown);

    const TraceInfo& info() const override { return info_; }

    // Its batches cost O(events) beyond those of `trace`.
    std::unique_ptr<TraceCursor> cursor() const override;

    std::uint64_t hash() const override { return grown(trace_.hash()); }

    std::uint64_t recorded_hash() const override { return grown(trace_.recorded_hash()); }

    // All events into `sink`, but what the recorded system decided and refused: it was of other
    // sizes. Returns what finish() needs. O(events). Errors: of the trace and the sink.
    Result<TraceInfo> write(TraceSink& sink) const;

  private:
    std::uint64_t grown(std::uint64_t hash) const;

    const Trace& trace_;
    std::vector<Bytes> sizes_;  // of each request
    TraceInfo info_;
};

}  // namespace tidemark
