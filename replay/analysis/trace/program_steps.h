// Program steps: where one training step (an iteration, a batch) of a program ends and the next
// begins. Read from the names of its ranges and marks (replay/facts/step_names.h) or, if it has
// none, found from the allocations that repeat.
//
// Pure; deterministic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// A name whose number at the end is a count ("step 3", "ProfilerStep#12", "layer.7") without it:
// "step N"; other names as they are. O(length).
std::string range_family(std::string_view name);

struct ProgramSteps {
    std::string name;                 // "step N"; "" = found, not named
    std::vector<std::uint64_t> ends;  // the last event of each step, rising
};

constexpr std::size_t kLeastSteps = 6;  // fewer show nothing

// The steps of `trace`; none (`ends` empty) if fewer than `least` are named, or nothing repeats.
// Names take precedence over what is found. Memory O(events about a site or size that is requested
// often). O(events). Errors: those of the cursor.
Result<ProgramSteps> find_steps(const Trace& trace, std::size_t least = kLeastSteps);

}  // namespace tidemark
