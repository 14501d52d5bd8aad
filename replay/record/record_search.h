// Replaying the record of one device so that as much of it as possible is explained.
//
// Straight on first, taking the pools as recorded. If that differs from the record, the pools of
// segments that died (which no snapshot says) and switches of expandable_segments become
// hypotheses: at each choice the likelier possibility is followed and the others kept; a
// contradiction goes back to the latest choice about a segment that it is about. A wrong choice
// contradicts the record soon.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/result.h"
#include "replay/record/device_replay.h"

namespace tidemark {

// Without hypotheses. `until_differs`: no further than the first difference. `progress(steps)` is
// called with the steps done now and then; it may be empty. O(steps). Errors: see
// DeviceReplay::make.
Result<DeviceFindings> replay_straight(const DeviceRecord& record, const ModelSpec& spec,
                                       bool until_differs,
                                       const std::function<void(std::uint64_t)>& progress);

// With hypotheses (assume_pools is called). A bounded multiple of O(steps): a few seconds at most.
// Errors: as above.
Result<DeviceFindings> search_record(DeviceRecord& record, const ModelSpec& spec);

}  // namespace tidemark
