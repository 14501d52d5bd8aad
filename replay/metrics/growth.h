// What growth costs: the device time of the events that raised reserved memory above all before. It
// is paid once, by whoever grows; what is left of a run's device time is paid again by every step
// that does the same.
#pragma once

#include <vector>

#include "replay/engine/observer.h"

namespace tidemark {

class GrowthTime {
  public:
    // Every batch of a run, in order. O(events), little more than a comparison each.
    void add(const EventBatch& events, const OutcomeBatch& outcomes);

    // In calls of the device and waits, summed over the devices.
    Nanoseconds total() const { return total_; }

  private:
    Nanoseconds spent_before(const EventBatch& events, const OutcomeBatch& outcomes,
                             std::size_t i) const;

    Bytes most_ = 0;
    Nanoseconds total_ = 0;
    std::vector<Nanoseconds> spent_;  // by device, up to the last batch
};

}  // namespace tidemark
