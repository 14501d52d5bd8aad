// verify: does our model of an allocator do what the real one did?
//
// The recorded program's requests are given to the policy that models the recorded system, on a
// device that hands out the recorded segment addresses (backends/wrap/scripted.h), and every
// decision is compared with the truth in the trace: the address of each allocation, each segment
// reserved and released, each failed request, and the state at the end. What the record does not
// say (an emptied cache leaves no entry of its own, nor does the pool of a segment that died) is
// inferred only if it reproduces the record from there on, and is listed.
//
//     TM_ASSIGN(const RecordedPolicy recorded, recorded_policy(trace.info()));
//     TM_ASSIGN(const PolicySpec policy, parse_policy(recorded.text));
//     TM_ASSIGN(const VerifyReport report, verify(trace, policy, {}));
//     const bool faithful = report.mismatches == 0;
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/allocator/spec.h"
#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// The first event at which the model and the record differ.
struct Mismatch {
    std::uint64_t event = 0;  // index in the trace
    TraceEvent what;
    std::string expected;
    std::string actual;
    std::vector<std::string> neighbourhood;  // recorded events around it; blocks near the address
};

// Something that the record does not say, found because it reproduces what the record does say.
struct InferredFact {
    enum class Kind : std::uint8_t {
        emptied_caches,     // the program emptied the caches; `event` is the last entry of it
        ended_pool,         // the private pool `pool` ended; `event` is the first entry of it;
                            // `count` = 1: its memory was released separately from the caches
        late_completions,   // `count` frees before `event` were completed by a retry's wait
        switched_segments,  // expandable_segments was switched just before `event`
        pool_of_segment,    // the segment of `event` was in `pool`, not as recorded
        refused_in_scope,   // the request `event` came while a graph was captured: no retry
        device_full,        // the device was out of memory for the request `event`
        limit,              // the program's limit on reserved bytes was `count`, or nearly so
    };
    Kind kind = Kind::emptied_caches;
    std::uint16_t device = 0;
    std::uint64_t event = 0;  // index in the trace
    PoolId pool = PoolId::default_pool;
    std::uint64_t count = 0;
};

// "empty_cache", ...: stable names, used in JSON.
std::string_view to_text(InferredFact::Kind kind);

// A request that was for another pool than the trace says.
struct PoolChange {
    std::uint64_t event = 0;
    PoolId pool = PoolId::default_pool;
};

struct VerifyReport {
    std::string policy;           // as replayed, with its settings
    std::uint64_t events = 0;     // of the trace, truth included
    std::uint64_t decisions = 0;  // compared with the record
    std::uint64_t mismatches = 0;
    std::uint64_t not_inferable = 0;   // decisions that the record does not determine: not compared
    std::uint64_t inferred_trims = 0;  // emptied caches that the record shows only by their effect
    std::uint64_t final_blocks = 0;    // blocks of the final state compared (among the decisions)
    Usage peak;  // each counter's own maximum on each device, summed over devices
    std::vector<Usage> device_peaks = {};  // by device: each counter's own maximum
    AllocatorStats stats;
    std::vector<InferredFact> facts;  // by device, then in order
    std::vector<PoolChange> pools;    // also: what the facts about segments mean for requests
    std::optional<Mismatch> first_mismatch;
    std::vector<std::string> notes;  // what could not be compared, and why

    // Were decisions compared? The state at the end alone says nothing: what is replayed was
    // rebuilt from it.
    bool compares() const { return decisions > final_blocks; }
};

struct ExplainedRecord;

struct VerifyOptions {
    Bytes limit = 0;   // per process, on reserved bytes; 0 = none, or inferred from the record
    Bytes memory = 0;  // of the device; 0 = as recorded, or unlimited
    std::function<void(std::uint64_t events_done)> progress;
};

// Replays `trace` under `policy` and compares. O(events); the allocator is copied wherever one
// explanation must be distinguished from another. Thread-safe. Errors: unsupported (a trace without
// truth, a policy that can neither be copied nor started in the middle); bad_input for a damaged
// trace. `run`, unless null, gets what a replay needs to be that run.
Result<VerifyReport> verify(const Trace& trace, const PolicySpec& policy,
                            const VerifyOptions& options, ExplainedRecord* run = nullptr);

}  // namespace tidemark
