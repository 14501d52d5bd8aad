// What the CUDA driver's codes mean to a Device, and what a person can do about them. Pure
// functions; thread-safe; O(1).
#pragma once

#include <string_view>

#include "backends/cuda/driver_api.h"
#include "core/device/device.h"

namespace tidemark {

// The status of `call` that ended in `code`, which is not success. Sticky errors (a kernel that
// faulted, a context that is gone, memory that the hardware retired) are `lost`; what a graph
// capture forbids is `not_permitted`; no room for a reservation is `address_space`.
DeviceStatus to_status(cuda::CUresult code, DeviceCall call);

// What to do about it: one sentence without a period, empty if nothing is known beyond the status.
std::string_view hint_for(cuda::CUresult code);

}  // namespace tidemark
