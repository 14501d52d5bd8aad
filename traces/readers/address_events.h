// Address events: what profilers record about memory: allocations and frees by address, in any
// order, of a program that had started before. Sorts them by time and gives them slots.
//
// A block that is freed without having been allocated was live before the first event: it becomes
// part of the preamble, with the size that its free names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"
#include "traces/readers/format.h"

namespace tidemark {

struct AddressEvent {
    Nanoseconds time = 0;                  // of any clock, 0 or more
    EventKind kind = EventKind::allocate;  // or free, or out_of_memory
    std::uint64_t address = 0;
    Bytes size = 0;
    std::uint64_t stream = 0;  // the program's handle
    std::uint32_t space = 0;   // equal addresses in two spaces (processes) are different
    std::uint16_t device = 0;
};

// Writes `events` to `sink`, in order of time; events of the same time keep their order. Completes
// `info`: counts, slots, streams, devices, duration, anomalies. Errors: of `sink`; bad_input, at
// `name`, if options.strict and there is an anomaly. O(n log n).
Result<void> write_address_events(std::vector<AddressEvent> events, TraceSink& sink,
                                  const ReadOptions& options, const std::string& name,
                                  TraceInfo& info);

}  // namespace tidemark
