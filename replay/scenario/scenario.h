// Scenario: one "what if": this trace, on that device, under this policy. And Run: its result.
//
// The only file that uses every catalogue. compare, sweep, advise, the viewer and Python all run
// scenarios; a scenario printed by `tidemark replay --json` can be fed back to it.
//
//     TM_ASSIGN(const Run done, run(*trace, {.policy = "best-fit", .limit = 20_GiB}));
//     const std::uint64_t peak = done.measurement("peak_reserved_bytes").whole;
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/sim/costs.h"
#include "backends/wrap/touching.h"
#include "core/allocator/memory_observer.h"
#include "core/allocator/spec.h"
#include "replay/engine/engine.h"
#include "replay/metrics/metric.h"
#include "replay/scenario/card_overhead.h"
#include "replay/scenario/peak_spread.h"
#include "replay/timeline/timeline.h"
#include "traces/model/trace.h"

namespace tidemark {

struct Scenario {
    std::string trace = {};        // a path, "-", or "generate:NAME:options"; for provenance
    std::string policy = {};       // "torch:max_split_size_mb=128"; "" = the recorded system's own
    std::string device = {};       // "cuda:0", "sim:h200"; "" = simulated, by `profile`
    std::string profile = "h200";  // of the simulated device: a shipped name or a JSON file
    double scale = 1;              // every size of the trace times this; see ScaledTrace
    Bytes memory = 0;              // of a simulated device; 0 = as recorded, else the profile's
    // How much of `memory` others hold; none = card_overhead(). A Run has the value that applied.
    std::optional<Bytes> overhead = {};
    // Per process, on the reserved bytes of each device; 0 = none. Without one: as the recorded
    // program had it, as far as that is known (Trace::explained_record), unless `memory` names
    // another card.
    std::optional<Bytes> limit = {};
    bool check = false;            // run on the checked device
    bool touch = false;            // write all allocated memory, and check it before it is freed
    bool stop_at_refusal = false;  // the first one, also of requests that failed when recorded
    bool simulated = false;        // as TrialSetup::simulated

    // Of `memory`, as far as it is known: 0 where no card is named.
    Bytes held() const { return memory > 0 ? overhead.value_or(0) : 0; }
};

// One hazard that the checker found, as text (backends/wrap/checked.h has the parts).
struct HazardText {
    std::string kind;
    std::string what;
    std::uint64_t first_event = 0;
    std::uint64_t second_event = 0;
};

// What was decided (replay/scenario/decisions.h), in short.
struct DecisionDigest {
    std::uint64_t count = 0;
    std::uint64_t hash = 0;  // equal exactly if all decisions were
};

// What a run on real hardware did to the memory that the driver reports as free: sums over its
// devices. Whatever else uses them at the same time affects it.
struct DeviceMemory {
    Bytes total = 0;
    Bytes peak = 0;  // from before the allocator's first call to the least that was ever free
    Bytes leak = 0;  // still missing when allocator and device were gone
};

struct Run {
    Scenario scenario;  // as understood: every default written out
    std::string policy_name;
    std::vector<std::pair<std::string, std::string>> policy_options;  // all of them
    ReplaySummary summary;
    std::vector<Measurement> measurements;  // of all metrics, in the catalogue's order
    std::vector<Refusal> refusals;          // the first few
    std::vector<HazardText> hazards;        // the first few, with --check
    std::uint64_t hazard_count = 0;
    std::optional<TouchReport> touch;           // with Scenario::touch
    std::optional<DecisionDigest> decisions;    // if they were requested
    std::optional<DeviceMemory> device_memory;  // of real hardware
    std::optional<PeakSpread> peak_spread;      // if it was requested, and the trace has one
    std::string device_name;                    // "NVIDIA H200", "sim:h200"
    Bytes limit = 0;                            // that held; the first device's that had one
    std::string limit_text;                     // "limit 6.00 GiB, inferred from 5 ..."; "" = none
    bool as_recorded = false;                   // this is the recorded run, address by address
    Timeline timeline;
    std::vector<std::string> warnings;  // sentences: settings of the recording that were ignored
    std::uint64_t trace_hash = 0;
    std::uint64_t profile_hash = 0;  // 0 on real hardware

    // The measurement of that name; it must exist (TM_CHECK). O(measurements).
    const Measurement& measurement(std::string_view name) const;
};

// Bytes of a simulated device: as asked, else as recorded, else the profile's.
Bytes simulated_memory(const Scenario& scenario, const TraceDevice& recorded,
                       const CostProfile& profile);

// Callbacks and observers of a run. All may be empty.
struct RunListeners {
    std::function<void(std::uint64_t events_done)> progress = {};  // now and then
    // Every decision, a line each (replay/scenario/decisions.h). Without it nothing is written down
    // and Run::decisions is empty.
    std::function<void(std::string_view lines)> decisions = {};
    Observer* observer = nullptr;  // sees what the metrics see
    // Called once for each device of the trace: returns the observer of the memory that its
    // allocator reserves and releases. Null: nobody.
    std::function<MemoryObserver*(std::size_t device)> memory = {};
    // Called once, before the first event: the devices with their allocators, and where the index
    // of the current event can be read from then on, until the run ends.
    std::function<void(std::span<const DeviceContext> contexts, const std::uint64_t& event)> begun =
        {};
    // The replay is over, or has failed: the objects that `begun` passed are destroyed now, and
    // with them what the allocators still hold.
    std::function<void()> ended = {};
    // Some ten thousand events apart; an Error ends the run, which returns it.
    std::function<Result<void>()> proceed = {};
};

// Replays `trace` (already open) under `scenario`. Thread-safe: compare calls it from many threads,
// each with its own device; make runs on one real device one at a time. Errors: bad options, an
// unknown profile, a damaged trace, a device that does not exist.
Result<Run> run(const Trace& trace, const Scenario& scenario, const RunListeners& listeners = {});

}  // namespace tidemark
