// ReplayEngine: gives each event of a trace to an allocator and reports to the observers what
// happened.
//
// It decides nothing: it contains no policy, no metric and no output. It knows three interfaces
// (TraceCursor, Allocator with its Device, Observer) and keeps one table of live allocations,
// indexed by slot. The same trace, policy and device profile give the same outcomes, bit for bit,
// on every machine.
//
//     const DeviceContext contexts[] = {{.device = &device, .allocator = &allocator}};
//     Observer* const observers[] = {&timeline};
//     ReplayEngine engine(contexts, observers);
//     TM_ASSIGN(const ReplaySummary summary, engine.run(trace.info(), *trace.cursor()));
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/result.h"
#include "core/device/device.h"
#include "core/device/replay_clock.h"
#include "replay/engine/completions.h"
#include "replay/engine/observer.h"
#include "traces/model/trace.h"

namespace tidemark {

// One device of the trace, and who manages its memory. A device with a virtual clock gives its
// `clock`: the replay stores the recorded time there before each event, and reads back what calls
// have cost. Null on real hardware, which has Device::now().
struct DeviceContext {
    Device* device = nullptr;
    Allocator* allocator = nullptr;
    ReplayClock* clock = nullptr;
    // Would the allocator serve this request now? The allocator stays as it is. Empty where that
    // cannot be tried, as on real hardware.
    std::function<bool(const Request&)> grants = {};
};

struct ReplaySummary {
    std::uint64_t events = 0;          // all of the trace
    std::uint64_t replayed = 0;        // those that an allocator saw
    std::uint64_t refused = 0;         // allocate events that ended in out of memory
    std::uint64_t refused_again = 0;   // out_of_memory events: refused when recorded, and here
    std::uint64_t probes_granted = 0;  // and those that would be granted here
    // Frees that waited for the device: as long as when recorded, or until a request had to.
    std::uint64_t retired = 0;
    std::uint64_t skipped = 0;      // frees and uses of what was refused or never allocated
    std::uint64_t live_at_end = 0;  // allocations that the trace never freed
    Nanoseconds elapsed = 0;        // wall time of the loop: engine + allocator + device
    Nanoseconds elapsed_total = 0;  // with decoding and observers
    Nanoseconds makespan = 0;       // virtual
};

struct ReplayLimits {
    bool stop_at_refusal = false;  // of a request that succeeded in the recorded program
    bool stop_at_probe = false;    // or of what it was refused as well
    std::function<void(std::uint64_t events_done)> progress;  // now and then; may be empty
    // Before each event, with its index: for a checker that names the events which clash. May be
    // empty, as it should be for speed.
    std::function<void(std::uint64_t event)> before_event = {};
    // Called once, before the first event: from then on `event` is the index of the current event,
    // until the run ends. For code that an allocator or a device calls. May be empty.
    std::function<void(const std::uint64_t& event)> begun = {};
    // When frees that wait for the device complete; null: at the recorded events (`finish`). Must
    // outlive the run.
    Completions* completions = nullptr;
    // Before this event the program waits for its devices and empties the caches, as
    // torch.cuda.empty_cache() does. None: it doesn't.
    std::optional<std::uint64_t> empty_before = {};
    // The allocators repeat what was recorded. Otherwise waits that ended without success (kInVain)
    // end when the request that failed then has waited here too.
    bool as_recorded = false;
};

class ReplayEngine {
  public:
    // Devices by index of the trace; at least as many as TraceInfo::devices. Everything must
    // outlive the engine.
    ReplayEngine(std::span<const DeviceContext> contexts, std::span<Observer* const> observers);

    // Runs the trace to its end. A request that fails does not stop it: that lifetime is skipped
    // and counted. A request that failed in the recording (out_of_memory) is a probe: whether it
    // would succeed is counted, and changes nothing (on real hardware it is allocated, and freed at
    // once). O(events); memory O(live). Errors: those of the cursor. Call once.
    Result<ReplaySummary> run(const TraceInfo& info, TraceCursor& cursor,
                              const ReplayLimits& limits = {});

  private:
    std::vector<DeviceContext> contexts_;
    std::vector<Observer*> observers_;
};

}  // namespace tidemark
