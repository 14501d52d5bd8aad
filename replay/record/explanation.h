// Explanation: what is assumed to have happened around a request, or around releases that no
// request followed, beyond what the record says.
#pragma once

#include <cstddef>
#include <vector>

#include "replay/record/allocator_model.h"
#include "replay/record/segment_pools.h"

namespace tidemark {

struct Explanation {
    std::size_t completed = 0;  // so many of the completions came before anything else
    bool pool_ended = false;    // first a private pool's memory was released
    bool emptied = false;       // then the caches were emptied
    bool in_scope = false;      // the request came while a graph was captured
    bool device_full = false;   // the device refused wherever no new memory is recorded
    bool switched = false;      // expandable_segments is the other way than in the policy
    PoolId pool = PoolId::default_pool;
};

// What was adopted at a step where there was a choice.
struct Adopted {
    std::size_t step = 0;
    Explanation how;
};

// What a record is checked against beyond its own statements.
struct Hypotheses {
    bool pools = false;     // pools by lives of segments instead of by the events' own
    bool switches = false;  // expandable_segments may be switched at any request
};

// What has to be explained: the pending entries of the cursor, and the request at it, if any.
struct Situation {
    const RecordCursor& cursor;
    const LiveAllocations& live;
    const SegmentPools& pools;
    const ModelSpec& spec;
    const TraceEvent* request = nullptr;  // null: no request followed
};

// The device calls that the pending entries record. O(entries).
std::vector<ScriptedDevice::Call> recorded_calls(const RecordCursor& cursor);

// Every way in which it may have come about for a model that is `switched` or not; likelier ones
// first, never empty. O(pools * completions).
std::vector<Explanation> explanations(const Situation& at, const Hypotheses& hypotheses,
                                      bool switched);

// An explanation carried out on a model.
struct Attempt {
    AllocatorModel model;
    Explanation explanation;
    std::vector<ScriptedDevice::Call> calls;  // of the model to its device
    std::optional<tl::expected<Allocation, OutOfMemory>> granted;
    std::uint64_t differences = 0;  // from the record: calls in order, waits, and the outcome
};

Attempt attempt(const Situation& at, AllocatorModel model, const Explanation& how);

// Of an attempt, the request alone, on the model itself. `at.request` must not be null.
tl::expected<Allocation, OutOfMemory> perform_request(const Situation& at, AllocatorModel& model,
                                                      const Explanation& how);

bool granted_as_recorded(const Attempt& attempt, const TraceEvent& request);

}  // namespace tidemark
