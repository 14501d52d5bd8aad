// CompletionRecord: what a recording shows of when the device finished: the frees that waited for
// other streams, how long in time, and the pace at which the program went on meanwhile.
//
// A recording shows a completion when a request notices it: it happened between the last request
// that did not notice it and the one that did. Waits form chains: queues of the device that
// complete in order (an owner's blocks used on one other stream). The device's work between two
// waits of a chain is known exactly where the intervals show that the device lagged behind the
// program. Where the device was idle in between, it is at most the time that passed.
//
// What the program waited for shows in a long gap after which a chain is empty.
//
// Immutable; may be shared by threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// A free that waited.
struct RecordedWait {
    std::uint64_t event = 0;      // its retire
    Nanoseconds requested = 0;    // when it was freed
    Nanoseconds done_after = 0;   // the last moment at which it was seen to be pending
    Nanoseconds done_before = 0;  // when it was seen to be done; the trace's end if it never was
    Nanoseconds likely_work = 0;  // of waits like it; an upper bound if the device was idle
    std::uint64_t requests = 0;   // that the program had made before it was freed
    std::uint32_t chain = 0;
    bool seen = false;  // its completion was recorded
};

// A moment at which the program was in the allocator: a request, or a free that waits.
struct HostPoint {
    std::uint64_t event = 0;
    Nanoseconds gap = 0;  // since the last one, without what the driver's calls took of it
    // The chains, as bits, for which the program seems to have waited meanwhile; those from 64 on
    // share bits.
    std::uint64_t waited = 0;
    bool waits = false;  // the next of `waits`
};

constexpr std::uint64_t chain_bit(std::size_t chain) {
    return std::uint64_t{1} << (chain % 64);
}

struct CompletionRecord {
    std::vector<RecordedWait> waits;  // by event
    std::vector<HostPoint> points;    // by event; empty if nothing waits
    // What requests that called the driver took longer than others, once there were waits.
    std::vector<Nanoseconds> stalls;
    std::size_t chains = 0;
    double streams = 1;  // that requests go to: all of them per request of the busiest one's

    // Is there anything that a replay could see otherwise?
    bool uncertain() const { return !waits.empty(); }
};

// Reads it from a trace. O(events + waits log chains). Errors (bad_input): a damaged trace.
Result<CompletionRecord> read_completions(const Trace& trace);

}  // namespace tidemark
