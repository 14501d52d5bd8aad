// What a CudaDevice promises, group by group, whichever driver is below it. Each takes a fresh
// device and gives back all that it took.
#pragma once

#include "backends/cuda/cuda_device.h"

namespace tidemark::support {

void check_plain_memory(CudaDevice& device);
void check_stream_ordered_memory(CudaDevice& device);
void check_virtual_memory(CudaDevice& device);
void check_unknown_handle(CudaDevice& device);
void check_points(CudaDevice& device);
void check_copies(CudaDevice& device);
void check_patterns(CudaDevice& device);
void check_host_memory(CudaDevice& device);
void check_capture(CudaDevice& device);
void check_capture_of_two_streams(CudaDevice& device);
void check_failed_capture(CudaDevice& device);
void check_plain_handles(CudaDevice& device);
void check_stale_ids(CudaDevice& device);
void check_counters(CudaDevice& device);

// For devices of one driver that reach each other.
void check_peers(CudaDevice& device, CudaDevice& other);

}  // namespace tidemark::support
