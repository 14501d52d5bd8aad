// TierScenario: one "what if" over tiers: this program on that machine, with this much GPU memory,
// under these policies. And TierRun: its result.
//
// The replay decides in the order of the program's virtual time and lets copies, kernels and waits
// occupy their links and streams on the virtual clock; see docs/tiers.md for the model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/tiers/machine/machine.h"
#include "core/tiers/spaces/over_reservation.h"
#include "core/tiers/victims/forecast.h"
#include "core/tiers/victims/victim_policy.h"
#include "replay/tiers/tier_program.h"
#include "traces/model/trace.h"

namespace tidemark {

class TierStage;
class TierTimeline;

// What brings buffers back before they are used, and writes copies ahead of need.
enum class Prefetch : std::uint8_t {
    automatic,  // by the victim policy's foresight: `learned` for learned, else `none`
    none,       // on demand only
    learned,    // what followed the last time the program did the same
    oracle,     // the trace's own future: a bound, not a policy
};

// What happens to a task that requests a reservation which does not fit now.
enum class ReservationMode : std::uint8_t {
    wait,    // it waits, in fair order, until it does
    up_to,   // what is available, at once
    ignore,  // reservations in the trace are ignored
};

// What happens when a task allocates more than it reserved.
enum class OverReservationMode : std::uint8_t {
    ignore,    // the excess is taken from what is free
    fail,      // out of memory
    increase,  // the reservation grows, or else out of memory
};

struct TierScenario {
    std::string trace = {};             // for provenance
    std::string machine = "h200-node";  // for provenance too; `run_tiers` takes the machine itself
    Bytes gpu_memory = 0;               // of each GPU; 0: `gpu_fraction`
    double gpu_fraction = 0;            // of the program's peak; 0: as the machine says
    Bytes host_memory = 0;              // of each host node; 0: as the machine says
    std::string spill = "lru";          // the victim policy with its options
    Prefetch prefetch = Prefetch::automatic;
    double spill_start = 0;  // begin to spill in the background; 0: as the machine says
    double spill_stop = 0;
    ReservationMode reservation = ReservationMode::wait;
    OverReservationMode over_reservation = OverReservationMode::ignore;
    double padding = kDefaultPadding;  // of `increase`: it grows by so many times what is missing,
    bool beyond_limit = false;         // and takes from what is free what it may not grow by
    double reservation_limit = 0;      // of all spaces' memory; 0: as the machine says
    bool keep_copies = true;  // what was brought back stays valid below until it is written
    bool timeline = false;    // fill TierRun::timeline and TierRun::levels
};

// Stall times by cause: what streams waited beyond the recorded gaps.
struct TierStalls {
    Nanoseconds fetch = 0;        // for a buffer that was on its way in
    Nanoseconds room = 0;         // for memory from which others had to be evicted first
    Nanoseconds reservation = 0;  // for a reservation

    Nanoseconds total() const { return fetch + room + reservation; }
};

struct TierLinkUse {
    SpaceId source;
    SpaceId target;
    Bytes bytes = 0;
    std::uint64_t copies = 0;
    std::optional<Nanoseconds> busy;  // nothing: a real link, where it isn't known
};

struct TierSpacePeak {
    SpaceId space;
    Bytes capacity = 0;
    Bytes peak = 0;  // the most that was allocated and reserved at once
};

struct ReservationWaits {
    std::uint64_t requested = 0;
    std::uint64_t waited = 0;
    std::uint64_t refused = 0;  // more than a GPU can ever have, or part of a deadlock
    Bytes short_bytes = 0;      // of `up_to`: requested and not received
    Nanoseconds p50 = 0;        // over all that succeeded, waiting or not
    Nanoseconds p99 = 0;
    Nanoseconds max = 0;
};

enum class SpanKind : std::uint8_t {
    kernel,       // track: stream
    fetch_stall,  // track: stream
    room_stall,
    reservation_stall,
    copy,  // track: link
    drop,  // a clean buffer leaves, at once; track: the GPU's number in TierRun::spaces
};

// Something that took time (begin == end: a moment).
struct TierSpan {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    Bytes bytes = 0;
    std::uint32_t buffer = kNoUse;  // BufferId, if it is about one
    std::uint32_t track = 0;        // see SpanKind
    SpanKind kind = SpanKind::kernel;
};

// What a space holds from `time` on, by the account that decisions use: a buffer that is to be
// evicted no longer counts, although its copy may still be under way.
struct TierLevel {
    Nanoseconds time = 0;     // virtual, of the step that decides
    Bytes used = 0;           // allocated, and reserved and not allocated yet
    Bytes reserved = 0;       // of these the latter
    std::uint32_t space = 0;  // its number in TierRun::spaces

    friend bool operator==(const TierLevel&, const TierLevel&) = default;
};

struct TierRun {
    TierScenario scenario;  // as understood: sizes in bytes, every default written out
    std::string policy;     // the victim policy's name
    std::vector<std::pair<std::string, std::string>> policy_options;  // all of them
    std::string machine_name;
    std::uint64_t machine_hash = 0;
    std::uint64_t trace_hash = 0;

    std::uint64_t events = 0;           // of the trace
    std::uint64_t kernels = 0;          // that ran,
    std::uint64_t kernels_not_run = 0;  // and that use what was refused, or don't fit
    Nanoseconds elapsed = 0;            // wall time of the replay loop
    Nanoseconds makespan = 0;           // virtual; on a device by its clock
    Nanoseconds unlimited = 0;          // the makespan with unlimited GPU memory
    TierStalls stalls;                  // summed over streams

    Bytes needed_bytes = 0;      // the largest kernel's: less memory than this refuses it
    Bytes used_bytes = 0;        // by kernels, every use counted
    Bytes hit_bytes = 0;         // of these, what was resident in time
    Bytes late_bytes = 0;        // what was on its way already (prefetched), but not there in time
    Bytes spilled_bytes = 0;     // copied out of GPU memory
    Bytes fetched_bytes = 0;     // copied into it
    Bytes vain_bytes = 0;        // copied in or out, and freed or used elsewhere meanwhile
    Bytes prefetched_bytes = 0;  // of those that were copied in, before they were requested
    Bytes wasted_bytes = 0;      // prefetched and gone again unused
    Bytes dropped_bytes = 0;     // evicted from GPU memory without a copy: clean
    std::uint64_t evictions = 0;
    std::uint64_t out_of_memory = 0;    // allocations and kernels that could not be served
    std::vector<std::string> refusals;  // the first few, as text
    std::uint64_t deadlocks = 0;

    std::uint64_t wrong_bytes = 0;      // of content that a real run compared
    std::uint64_t failed_copies = 0;    // that a real device refused or lost
    std::string copy_failure;           // why the last of them, as text
    std::string device;                 // that it ran on; empty: a simulated machine
    std::vector<TierLinkUse> links;     // in the machine's order
    std::vector<TierSpacePeak> spaces;  // the same
    ReservationWaits reservations;
    ForecastScore forecast;
    std::vector<TierSpan> timeline;     // by begin within each track
    std::vector<TierLevel> levels;      // every change of every space's account, by time
    std::vector<std::string> warnings;  // sentences; the program's assumption is the first

    // makespan / unlimited; 1 for an empty program.
    double slowdown() const;

    // hit_bytes / used_bytes; 1 if nothing was used.
    double hit_ratio() const;
};

// Callbacks for a run's progress, and for whether it is to go on. Each may be empty.
struct TierListeners {
    std::function<void(std::uint64_t steps_done)> progress = {};
    Cancelling cancelled = {};
};

// Replays `program` on `machine`. Thread-safe. Deterministic: the same inputs give the same run but
// for `elapsed`. O(steps log buffers). Errors (bad_option): an unknown policy or option, a machine
// without a GPU or without the program's devices, thresholds out of order; cancelled.
Result<TierRun> run_tiers(const TierProgram& program, const MachineSpec& machine,
                          const TierScenario& scenario, const TierListeners& listeners = {});

// The machine with the scenario's sizes and thresholds, for the program. Errors as above.
Result<MachineSpec> sized_machine(const TierProgram& program, const MachineSpec& machine,
                                  const TierScenario& scenario);

// The same on a stage of that machine, `sized`, by the same decisions of the same engine; times are
// the stage's. Errors: the stage's, too.
Result<TierRun> run_tiers_on(TierStage& stage, TierTimeline& timeline, const TierProgram& program,
                             const MachineSpec& sized, const TierScenario& scenario,
                             const TierListeners& listeners = {});

}  // namespace tidemark
