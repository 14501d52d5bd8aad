// VariedTrace: a trace as another run of the same program might have made it, to find out whether a
// result is luck.
//
// Two things differ, both determined by the seed. Sizes: as between two batches, those from 1 MiB
// on change by at most 0.4 %, equal sizes equally, so that blocks that were reused still are.
// Order: if two neighbouring events are an allocation or a free each, on different streams and of
// different blocks, only chance put one first, and they may change places. Times, lifetimes,
// streams and pools stay otherwise; the recorded system's addresses are left out. A Trace; see
// there.
#pragma once

#include <cstdint>
#include <memory>

#include "traces/model/trace.h"

namespace tidemark {

class VariedTrace final : public Trace {
  public:
    // `trace` must outlive it.
    VariedTrace(const Trace& trace, std::uint64_t seed) : trace_(trace), seed_(seed) {}

    const TraceInfo& info() const override { return trace_.info(); }

    // Its batches cost O(events) on top of those of `trace`.
    std::unique_ptr<TraceCursor> cursor() const override;

    std::uint64_t hash() const override { return varied(trace_.hash()); }

    std::uint64_t recorded_hash() const override { return varied(trace_.recorded_hash()); }

  private:
    std::uint64_t varied(std::uint64_t hash) const;

    const Trace& trace_;
    std::uint64_t seed_;
};

// `size` as such a run would have it. O(1).
Bytes varied_size(Bytes size, std::uint64_t seed);

}  // namespace tidemark
