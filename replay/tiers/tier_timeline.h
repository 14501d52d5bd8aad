// TierTimeline: what took time in a replay over tiers, as spans; nothing is kept unless somebody
// wants it. Not thread-safe.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "replay/tiers/tier_run.h"

namespace tidemark {

class TierTimeline {
  public:
    explicit TierTimeline(bool wanted) : wanted_(wanted) {}

    void add(SpanKind kind, std::size_t lane, Nanoseconds begin, Nanoseconds end, Bytes bytes = 0,
             std::uint32_t buffer = kNoUse) {
        if (wanted_)
            spans_.push_back({begin, end, bytes, buffer, static_cast<std::uint32_t>(lane), kind});
    }

    std::vector<TierSpan> take() { return std::move(spans_); }

  private:
    bool wanted_;
    std::vector<TierSpan> spans_;
};

}  // namespace tidemark
