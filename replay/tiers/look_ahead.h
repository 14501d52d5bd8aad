// LookAhead: uses the time before things are needed. Where a forecast says what comes, it brings
// buffers back before their uses, and sends away ahead of a peak what will not be needed until
// after it, so that both directions of the link work while kernels run.
//
// Where it says nothing, it keeps a part of the memory free, and when much more is free than that,
// brings back what left last: what a program computes forward it mostly needs again backward. It
// does so only while that proves right: what was fetched on demand must have been among the last to
// leave, too.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tiers/forecast.h"
#include "replay/tiers/tier_memory.h"

namespace tidemark {

class LookAhead {
  public:
    // All must outlive it.
    LookAhead(TierMemory& memory, const TierLinks& links, const Forecast& forecast, SpaceId home)
        : memory_(memory), links_(links), forecast_(forecast), home_(home) {}

    // `live`: bytes that the program holds in GPU memory now, resident or not.
    void step(Bytes live, Nanoseconds now);

  private:
    void send_away(Bytes live, Nanoseconds now);
    bool pressing(Bytes live) const;
    bool short_of_room() const;
    bool overflows(Bytes live, std::uint64_t position) const;
    bool must_leave(BufferId id, Bytes live) const;
    void bring_back(Nanoseconds now);
    void refill(Nanoseconds now);
    void learn_order();
    bool gone(BufferId id) const;

    TierMemory& memory_;
    const TierLinks& links_;
    const Forecast& forecast_;
    SpaceId home_;
    std::vector<BufferId> passed_;
    int resting_ = 0;           // steps
    std::uint64_t cursor_ = 0;  // positions up to here are looked after
    Bytes wasted_ = 0;          // of what was brought in ahead, so far
    double credit_ = 0;         // bytes fetched in the order that refill expects, less those not
};

}  // namespace tidemark
