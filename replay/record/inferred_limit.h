// What a record shows of the limit on reserved bytes that its program had set: PyTorch's snapshots
// don't hold it.
#pragma once

#include <vector>

#include "core/allocator/spec.h"
#include "replay/record/device_record.h"

namespace tidemark {

// Limits that would explain the failed requests, and the releases just before a new segment:
// likeliest first, in bytes. Any limit between an amount that once succeeded and one that once
// failed decides the same (except for garbage_collection_threshold, which is a part of it), so the
// roundest number comes first. Empty if nothing points to a limit, or the policy is not one that
// keeps limits as PyTorch does. O(steps).
std::vector<Bytes> infer_limits(const DeviceRecord& record, const PolicySpec& policy);

}  // namespace tidemark
