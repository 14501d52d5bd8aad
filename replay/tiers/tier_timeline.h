// TierTimeline: what took time in a replay over tiers, as spans, and what each space held, as
// levels; nothing is kept unless it was requested. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "replay/tiers/tier_run.h"

namespace tidemark {

class TierTimeline {
  public:
    explicit TierTimeline(bool wanted) : wanted_(wanted) {}

    void add(SpanKind kind, std::size_t track, Nanoseconds begin, Nanoseconds end, Bytes bytes = 0,
             std::uint32_t buffer = kNoUse) {
        if (wanted_)
            spans_.push_back({begin, end, bytes, buffer, static_cast<std::uint32_t>(track), kind});
    }

    // The step that decides from now on is taken at `time`. Decisions have an order, so time
    // doesn't go back between them.
    void decide_at(Nanoseconds time) { now_ = std::max(now_, time); }

    bool wanted() const { return wanted_; }

    // What a space holds now.
    void level(std::size_t space, Bytes used, Bytes reserved) {
        last_.resize(std::max(last_.size(), space + 1));
        TierLevel& last = last_[space];
        if (last.used == used && last.reserved == reserved)
            return;
        last = {now_, used, reserved, static_cast<std::uint32_t>(space)};
        levels_.push_back(last);
    }

    std::vector<TierSpan> take() { return std::move(spans_); }

    std::vector<TierLevel> take_levels() { return std::move(levels_); }

  private:
    bool wanted_;
    Nanoseconds now_ = 0;
    std::vector<TierSpan> spans_;
    std::vector<TierLevel> levels_;
    std::vector<TierLevel> last_;  // by space
};

}  // namespace tidemark
