// Out of memory as text and as JSON: each event, where in the program it was, what was free, what
// pins that, and what each remedy achieved when it was replayed.
#pragma once

#include <string>
#include <string_view>

#include "replay/analysis/advise/out_of_memory.h"
#include "replay/analysis/trace/event_position.h"
#include "replay/report/forms/json_values.h"

namespace tidemark::report {

// Why a case with `without_retry` failed without a retry.
constexpr std::string_view kWithoutRetry =
    "Requested for a private pool (of a graph or a MemPool): while one is in use, PyTorch releases "
    "nothing to the driver and doesn't ask it again";

// ", in step #7 > forward #3"; " on GPU 1, after step #6"; "" where the trace has one GPU and no
// ranges.
std::string position_text(const EventPosition& position);

// The first frames of its stack, a line each, the first with the operator that it ran; "" if none
// was recorded.
std::string stack_text(const EventPosition& position, std::size_t indent);

Json position_json(const EventPosition& position);

// "torch:expandable_segments=true: the request succeeds, and nothing runs out of memory".
std::string remedy_text(const Remedy& remedy);

// Lines for people; "" if nothing ran out of memory. `limit` says under which limit.
std::string out_of_memory_text(const OutOfMemoryReport& report, const std::string& limit);

// A list of the cases; the count is elsewhere.
Json out_of_memory_json(const OutOfMemoryReport& report);

}  // namespace tidemark::report
