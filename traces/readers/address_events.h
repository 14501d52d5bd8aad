// Address events: what profilers say of memory: allocations and frees by address, in any order, of
// a program that had begun before. Puts them in order of time and gives them slots.
//
// What is freed without having been allocated lived before the first event: it becomes the
// preamble, with the size that its free names.
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
    std::uint32_t space = 0;   // of equal addresses in two spaces (processes) each is its own
    std::uint16_t device = 0;
};

// Pours `events` into `sink`, in order of time and, of one time, in theirs. Completes what `info`
// says of them: counts, slots, streams, devices, duration, anomalies. Errors: of `sink`; bad_input,
// at `name`, where options.strict and there is an anomaly. O(n log n).
Result<void> write_address_events(std::vector<AddressEvent> events, TraceSink& sink,
                                  const ReadOptions& options, const std::string& name,
                                  TraceInfo& info);

}  // namespace tidemark
