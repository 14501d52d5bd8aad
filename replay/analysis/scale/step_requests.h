// Step requests: what each step of a program requested, in order, so that steps can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/scale/operator_shapes.h"
#include "traces/model/trace.h"

namespace tidemark {

// Whether that event is one: an allocation on the device, not of the preamble.
inline bool is_step_request(EventKind kind, std::uint8_t flags) {
    return kind == EventKind::allocate && (flags & (kPreamble | kTierMask)) == 0;
}

// One allocation.
struct StepRequest {
    Bytes size = 0;
    // Of what steps of different sizes have in common: stream, device, pool, stack, and how soon it
    // is freed.
    std::uint32_t symbol = 0;
    bool outlives = false;        // the step
    std::uint32_t stack = 0;      // of TraceInfo's
    std::uint32_t operation = 0;  // of StepRequests::operators
};

struct RequestsOfStep {
    std::size_t begin = 0, end = 0;  // of StepRequests::requests
    std::uint64_t last_event = 0;    // of the trace
};

struct StepRequests {
    std::string name;                   // of the steps: "step N"; "" = found, not named
    std::vector<StepRequest> requests;  // every allocation of the trace but those of its preamble
    std::vector<RequestsOfStep> steps;  // what comes after the last one belongs to none
    std::vector<OperatorShapes> operators = {{}};  // that asked; [0]: not known
    // Sizes of what the first step or the time before it made for the whole run, rising, each once.
    std::vector<Bytes> lasting;

    const OperatorShapes& operator_of(const StepRequest& request) const {
        return operators[request.operation];
    }

    std::span<const StepRequest> of(std::size_t step) const {
        return std::span(requests).subspan(steps[step].begin, steps[step].end - steps[step].begin);
    }
};

// The steps of `trace` by find_steps(); none if nothing comes again and again. O(events), memory
// O(allocations). Errors: those of the cursor.
Result<StepRequests> read_step_requests(const Trace& trace);

}  // namespace tidemark
