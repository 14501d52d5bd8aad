// Idle memory: what stays reserved after a peak although the program needs far less for a long
// time. An allocator never releases its cache by itself; a program that empties it there leaves the
// memory to others.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/base/units.h"
#include "replay/scenario/trial.h"
#include "traces/model/trace.h"

namespace tidemark {

// From an event on up to another, the end of the trace or one that needs more.
struct IdleStretch {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    Nanoseconds time = 0;  // of `from`, as recorded
    Bytes active = 0;      // at most, meanwhile
    Bytes reserved = 0;    // always, meanwhile
    // The same run with its caches emptied before `from`: the most that is reserved meanwhile, and
    // how much longer the run takes.
    Bytes emptied = 0;
    Nanoseconds longer = 0;

    Bytes given_back() const { return reserved - emptied; }
};

// Where most memory is idle for the longest time, in bytes times events. None if that is less than
// a fifth of the peak or lasts for less than a tenth of the run, or if emptying the caches doesn't
// release that much. At most three replays. O(events). Errors: those of run_trial.
Result<std::optional<IdleStretch>> find_idle_stretch(const Trace& trace, const TrialSetup& setup);

}  // namespace tidemark
