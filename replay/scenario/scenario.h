// Scenario: one "what if": this trace, on that device, under this policy. And Run: what came of it.
//
// The only place that meets every catalogue. compare, verify, sweep, advise, viz and Python all
// speak in scenarios; a scenario printed by `tidemark replay --json` can be fed back to it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/allocator/spec.h"
#include "replay/metrics/metric.h"
#include "replay/timeline/timeline.h"
#include "traces/model/trace.h"

namespace tidemark {

struct Scenario {
    std::string trace = {};        // a path, "-", or "generate:NAME:options"; for provenance
    std::string policy = {};       // "torch:max_split_size_mb=128"; "" = the recorded system's own
    std::string profile = "h200";  // of the simulated device: a shipped name or a JSON file
    Bytes memory = 0;              // of the device; 0 = as recorded, else the profile's
    Bytes limit = 0;               // per process, on reserved bytes; 0 = none
    bool check = false;            // run on the checked device
    bool stop_at_refusal = false;
};

// One hazard that the checker found, in words (backends/wrap/checked.h has the parts).
struct HazardText {
    std::string kind;
    std::string what;
    std::uint64_t first_event = 0;
    std::uint64_t second_event = 0;
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
    Timeline timeline;
    std::vector<std::string> warnings;  // sentences: settings of the recording that were ignored
    std::uint64_t trace_hash = 0;
    std::uint64_t profile_hash = 0;

    // The measurement of that name; it must exist (TM_CHECK). O(measurements).
    const Measurement& measurement(std::string_view name) const;
};

// Replays `trace` (already open) under `scenario`. Thread-safe: compare calls it from many
// threads, each with a device of its own. Errors: bad options, an unknown profile, a damaged trace.
Result<Run> run(const Trace& trace, const Scenario& scenario,
                const std::function<void(std::uint64_t events_done)>& progress = {});

}  // namespace tidemark
