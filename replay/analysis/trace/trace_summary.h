// TraceSummary: what a trace holds, found without a replay: events by kind, streams, pools, peaks,
// sizes and lifetimes. One pass over the events; memory O(live allocations). `tidemark info`
// prints it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/trace/histogram.h"
#include "traces/model/trace.h"

namespace tidemark {

struct KindCount {
    EventKind kind = EventKind::allocate;
    std::uint64_t count = 0;
};

// What happened on one stream; `handle` is the program's own name for it.
struct StreamSummary {
    StreamId stream = StreamId::default_stream;
    std::uint64_t handle = 0;
    std::uint64_t events = 0;  // of the program, truth excluded
    std::uint64_t allocations = 0;
    Bytes allocated = 0;  // the sum of all requests
};

// What was allocated in one pool: the default one, a captured graph's or the program's own.
struct PoolSummary {
    PoolId pool = PoolId::default_pool;
    std::uint64_t allocations = 0;
    Bytes allocated = 0;       // the sum of all requests
    Bytes peak_requested = 0;  // not finished at once
};

// A largest value, and where it was first reached.
struct Peak {
    std::uint64_t value = 0;
    std::uint64_t event = 0;
    Nanoseconds time = 0;
};

struct DeviceSummary {
    std::uint64_t allocations = 0;
    Peak requested;          // bytes requested and not finished
    Peak recorded_reserved;  // held by the recorded system, by its segments and maps
};

// Range names by how often they began.
struct RangeCount {
    std::string name;
    std::uint64_t count = 0;
};

// What kernels, copies and fills touched, as far as the trace says it.
struct UseCounts {
    std::uint64_t launches = 0;
    std::uint64_t unknown_launches = 0;  // of these: what they used isn't known
    std::uint64_t uses = 0;              // of a block, by a launch
    std::uint64_t possible = 0;  // of these: an address was found that may mean something else
    // When the device ran them, where the recorder was told: a graph's launch is one for each of
    // its kernels. The sum of how long each took: those of several streams overlap.
    std::uint64_t executions = 0;
    Nanoseconds execution_time = 0;
};

struct TraceSummary {
    std::uint64_t events = 0;
    std::vector<KindCount> kinds;        // those that occur, in the order of their numbers
    std::vector<StreamSummary> streams;  // those that occur, in the order of StreamId
    std::vector<PoolSummary> pools;      // those that occur, in the order of PoolId
    std::vector<DeviceSummary> devices;  // one for each of TraceInfo::devices

    std::uint64_t allocations = 0;
    Bytes allocated = 0;  // the sum of all requests
    std::uint64_t never_freed = 0;
    Bytes never_freed_bytes = 0;
    std::uint64_t preamble_live = 0;  // allocations that were live before the first event
    std::uint64_t unmatched = 0;      // frees and uses of what the trace never introduced
    UseCounts uses;
    std::uint64_t out_of_memory = 0;  // requests that failed in the program

    // Sums over the GPUs: host memory is a device of its own.
    Peak requested;  // bytes requested and not finished: the floor of every policy
    Peak live;       // allocations not finished
    bool has_recorded_reserved = false;
    Peak recorded_reserved;

    Histogram sizes;            // bytes as requested
    Histogram lifetime_events;  // program events from allocation to free
    Histogram lifetime_times;   // nanoseconds; empty if the trace has no times

    std::uint64_t range_names = 0;   // how many different ones there are
    std::vector<RangeCount> ranges;  // the most frequent, at most kRangesShown
};

constexpr std::size_t kRangesShown = 10;

// Errors: those of the cursor. O(events); `progress` is called once a batch and may be empty.
Result<TraceSummary> summarize(const Trace& trace,
                               const std::function<void(std::uint64_t events_done)>& progress = {});

}  // namespace tidemark
