// search_lane: replays the record of one device so that as much of it as possible is explained.
//
// First straight on, taking the pools as recorded. If that differs from the record, the pools of
// segments that died (which no snapshot tells) and switches of expandable_segments become
// hypotheses: at each choice the likelier possibility is followed and the other kept; a
// contradiction goes back to the latest choice about a segment that it is about. A wrong choice
// contradicts the record soon.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/result.h"
#include "replay/analysis/lane_replay.h"

namespace tidemark {

// What verify finds on one device.
struct LaneFindings {
    LaneReplay::Findings found;
    AllocatorStats stats;
};

// `progress(steps)` is told the steps done now and then; it may be empty. O(steps) where the record
// needs no hypotheses (assume_pools is called if it does), else a bounded multiple of that.
// Errors: see LaneReplay::make.
Result<LaneFindings> search_lane(RecordedLane& lane, const ModelSpec& spec,
                                 const std::function<void(std::uint64_t)>& progress);

}  // namespace tidemark
