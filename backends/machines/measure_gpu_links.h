// The links between a GPU and host memory, measured by copies from and to pinned memory.
//
// Each run measures in each direction: two large copies, whose difference gives the bandwidth; rows
// of copies of 64 KiB, which give the fixed cost of a copy on its link; and single ones, which give
// how much later the host sees the end. Then large copies in both directions at once, with bytes in
// proportion to the bandwidths, so that both end together. A warm-up run is made first. Time is the
// device's own (Device::now), so a simulated device gives its profile back.
//
// Takes at most a quarter of the GPU's free memory and frees everything. One thread; if somebody
// else uses the GPU meanwhile, the spread of the figures shows it.
#pragma once

#include "backends/machines/figures.h"
#include "backends/machines/measuring_limits.h"
#include "core/base/result.h"
#include "core/device/device.h"

namespace tidemark {

struct LinkFigures {
    Figure bytes_per_second;
    Figure overhead;  // nanoseconds, as latency
    Figure latency;
};

struct GpuLinkFigures {
    LinkFigures to_host;
    LinkFigures from_host;
    Figure both;     // bytes per second of both directions at once
    Bytes less = 0;  // the large copies
    Bytes more = 0;
};

// `largest`: of a copy, at least 2 MiB; smaller ones are used if memory is short. Errors:
// unsupported: the device makes no copies; no_space: it has no memory for the smallest; driver: its
// errors; cancelled: `stop` returned true; bad_input: in no run did more bytes take longer.
Result<GpuLinkFigures> measure_gpu_links(Device& device, const MeasuringLimits& limits,
                                         Bytes largest = 1_GiB);

}  // namespace tidemark
