// The GPUs of a trace, as recorded, and which of them a command uses that needs a single one: sums
// over several GPUs belong to no card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

struct GpuRow {
    Bytes peak_requested = 0;
    Bytes peak_reserved = 0;          // as recorded; 0 = the trace doesn't say
    std::uint64_t out_of_memory = 0;  // as recorded
};

struct Gpus {
    std::vector<GpuRow> rows;  // of the whole trace
    std::size_t chosen = 0;    // of rows
};

// All GPUs of `trace`. The chosen one is `wanted`; if it isn't given, the one that the trace has
// been cut down to (DeviceTrace), else the first that ran out of memory, else the one with the
// highest peak. Errors: bad_option (there is no GPU `wanted`); a damaged trace. O(events).
Result<Gpus> find_gpus(const Trace& trace, std::optional<std::size_t> wanted = {});

}  // namespace tidemark
