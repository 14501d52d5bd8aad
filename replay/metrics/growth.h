// What growth costs: the device time of the events that raised reserved memory to a new peak. That
// time is paid once. The rest of a run's device time is paid again in every step that does the
// same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "replay/engine/observer.h"

namespace tidemark {

class GrowthTime {
  public:
    // `devices`: of the trace.
    explicit GrowthTime(std::size_t devices) : spent_(std::max<std::size_t>(devices, 1)) {}

    // Every batch of a run, in order. O(events), a comparison each.
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
