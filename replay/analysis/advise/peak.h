// PeakSnapshot: what was in memory at the moments that matter, and what the program was doing then.
//
// Two replays under one policy: the first finds the moments, the second reads the allocator's
// regions at each and keeps what was live. The same trace, policy and machine give the same
// snapshot. Memory O(live + regions).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "replay/scenario/trial.h"
#include "traces/model/trace.h"

namespace tidemark {

constexpr std::uint64_t kNotInTrace = std::numeric_limits<std::uint64_t>::max();

// An allocation that is live at a moment.
struct LiveBlock {
    Bytes requested = 0;
    Address address = Address::null;
    std::uint64_t born = 0;  // index of its event
    Nanoseconds born_time = 0;
    std::uint64_t ends = kNotInTrace;  // the event that frees it, if there is one
    Nanoseconds end_time = 0;
    std::uint32_t stack = 0;
    std::uint32_t annotation = 0;  // a string: its tag, else the innermost range it was made in
    std::uint32_t slot = kNoSlot;
    StreamId stream = StreamId::default_stream;
    PoolId pool = PoolId::default_pool;
    std::uint16_t device = 0;
    bool recorded = false;  // another stream uses it, as far as the trace says
    bool retired = false;   // freed, the device isn't done
};

// A range by its name (a string's index, 0 = none) and which of its kind it is, from 1 on.
struct RangeVisit {
    std::uint32_t name = 0;
    std::uint64_t visit = 0;
};

// A moment: just after `event`.
struct Moment {
    std::uint64_t event = kNotInTrace;  // kNotInTrace: there is none
    Nanoseconds time = 0;               // recorded
    TraceEvent what;
    Usage usage;
    Bytes requested = 0;               // by the program, and not finished
    std::vector<RangeVisit> inside;    // open ranges, outermost first
    RangeVisit after;                  // the range that ended last
    std::uint32_t mark = 0;            // the mark passed last
    std::vector<LiveBlock> live = {};  // by slot
};

// Of the GPUs: what is known of the host's memory is left out.
struct PeakSnapshot {
    Moment reserved;  // where reserved memory peaked first
    // Of all events with reserved memory at its peak, the one at which most of it was in use:
    // memory that is free here was never needed.
    Moment fullest;
    Moment allocated;  // where allocated memory peaked first
    // Where the allocator had to grow to a new peak of reserved memory, for a large request if it
    // ever did for one, while more was free in it than at any other such event; `live` and `usage`
    // are those just before it.
    Moment growth;
    std::vector<std::vector<Region>> at_peak;    // by device, after `fullest`
    std::vector<std::vector<Region>> at_growth;  // by device, before `growth`
    std::vector<std::uint64_t> range_visits;     // by string: how often that range began
};

// Replays `trace` twice under `setup` (its policy, profile, memory and limit); `also`, if there is
// one, sees the first replay. Errors: as run_trial. O(events).
Result<PeakSnapshot> find_peak(const Trace& trace, const TrialSetup& setup,
                               Observer* also = nullptr);

// Of the same, only what was in memory when the request of `event` failed, with the caches emptied:
// PeakSnapshot's `growth` and `at_growth`. One replay.
Result<PeakSnapshot> find_refusal(const Trace& trace, const TrialSetup& setup, std::uint64_t event);

}  // namespace tidemark
