// ScaledTrace: a trace whose sizes are multiplied by a factor, so that a recording of a large
// machine can be replayed on a small one, or the other way round.
//
// Order, times, streams, pools and lifetimes stay. The recorded system's addresses are left out
// (all are 0): they would be wrong for other sizes. A Trace; see there.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// A factor above 0 and up to 1000, in whole billionths, so that every machine gets the same bytes.
class Scale {
  public:
    // Errors (bad_option, --scale): out of bounds, or below a billionth.
    static Result<Scale> of(double factor);

    // `size` times the factor, rounded up; 0 stays 0. Sizes that no allocator would grant
    // (kLargestRequest and more) stay as they are, and results that become so large are set to
    // that. O(1).
    Bytes operator()(Bytes size) const;

    bool changes() const { return billionths_ != kOne; }

    std::uint64_t billionths() const { return billionths_; }

  private:
    static constexpr std::uint64_t kOne = 1'000'000'000;

    explicit Scale(std::uint64_t billionths) : billionths_(billionths) {}

    std::uint64_t billionths_ = kOne;
};

class ScaledTrace final : public Trace {
  public:
    // `trace` must outlive it.
    ScaledTrace(const Trace& trace, Scale scale);

    const TraceInfo& info() const override { return info_; }

    // Its batches cost O(events) on top of those of `trace`.
    std::unique_ptr<TraceCursor> cursor() const override;

    std::uint64_t hash() const override { return scaled(trace_.hash()); }

    std::uint64_t recorded_hash() const override { return scaled(trace_.recorded_hash()); }

  private:
    std::uint64_t scaled(std::uint64_t hash) const;

    const Trace& trace_;
    Scale scale_;
    TraceInfo info_;
};

}  // namespace tidemark
