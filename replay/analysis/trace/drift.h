// Drift: whether a program's iterations are the same, and the first event that differs from the
// iteration before. It checks three things separately, because the second may differ while the
// first doesn't, and the third although neither does (rmm #1969: the same sequence works twice, and
// fails the third time):
//
//   requests   the sizes, streams and devices of allocations, and which ran out of memory
//   frees      which allocation is freed after which request
//   addresses  where the recorded allocator put each request
//
// Iterations are the steps that the trace's ranges name (program_steps.h); without such ranges, an
// iteration is as long as the longest repeating piece of the sequence of requests (period.h), if
// three quarters of the requests equal those one such length before.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// One event as it is compared.
struct DriftEvent {
    std::uint64_t event = 0;  // index in the trace
    EventKind kind = EventKind::allocate;
    Bytes size = 0;               // of a free: of what it frees
    std::uint64_t address = 0;    // 0 = not recorded
    std::uint64_t allocated = 0;  // requests before that of the allocation; of a free
    std::uint64_t requests = 0;   // before this event
    StreamId stream = StreamId::default_stream;
    std::uint16_t device = 0;
};

enum class DriftAspect : std::uint8_t { requests, frees, addresses };

constexpr std::array<DriftAspect, 3> kDriftAspects{DriftAspect::requests, DriftAspect::frees,
                                                   DriftAspect::addresses};

std::string_view to_text(DriftAspect aspect);

// The first event that differs from its counterpart an iteration earlier. One of the two may be
// missing: an iteration that has fewer.
struct DriftDifference {
    std::uint64_t iteration = 0;  // counted from 1
    std::optional<DriftEvent> before;
    std::optional<DriftEvent> now;
};

struct AspectDrift {
    DriftAspect aspect = DriftAspect::requests;
    bool known = true;                             // false: the trace has no addresses
    std::optional<std::uint64_t> alike_from = {};  // the first iteration that the next one is like
    std::uint64_t alike = 0;                       // iterations like the one before them
    std::optional<DriftDifference> difference = {};  // after alike_from, or the very first
};

struct DriftReport {
    std::string steps;                 // the ranges: "step N"; "" = found in the requests
    std::uint64_t iterations = 0;      // 0: neither ranges nor anything that repeats
    std::uint64_t begin = 0;           // the first event of the first of them
    std::uint64_t end = 0;             // and the last of the last
    std::uint64_t requests = 0;        // of an iteration: the median
    std::vector<AspectDrift> aspects;  // one for each of kDriftAspects; empty without iterations

    // Every iteration is like the one before it from the first that another one is like.
    bool periodic() const;
};

// O(events * log events), memory O(events). Errors: those of the trace.
Result<DriftReport> find_drift(const Trace& trace);

}  // namespace tidemark
