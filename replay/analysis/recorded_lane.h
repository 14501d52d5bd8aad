// RecordedLane: what one device did in a trace, laid out for verify: the steps in order, the state
// before them, the state after them, and the life of each segment.
//
// A step is an event that matters to an allocator, truth included. A life is what a cudaMalloc
// segment or a reservation went through; it belongs to one pool from its birth to its death, and
// where the record doesn't tell which, a guess is made (see assume_pools).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

struct RecordedStep {
    TraceEvent event;
    std::uint64_t index = 0;  // in the trace
};

// A segment or reservation that was born within the trace.
struct SegmentLife {
    static constexpr std::size_t kAlive = ~std::size_t{0};

    std::size_t birth = 0;       // the step
    std::size_t death = kAlive;  // the step, or alive at the end
    Address begin = Address::null;
    StreamId stream = StreamId::default_stream;
    bool small = false;
    bool known = false;                     // the record tells the pool
    PoolId pool = PoolId::default_pool;     // known, or the likelier
    PoolId instead = PoolId::default_pool;  // the other possibility
    std::uint32_t group = 0;                // lives of one group are in one pool
};

struct RecordedLane {
    std::vector<RecordedStep> steps;
    std::vector<SeedSegment> seeds;  // runs of pages of one reservation in a row
    std::vector<std::uint32_t> seed_slots;
    std::vector<TraceEvent> final_segments;
    std::vector<TraceEvent> final_blocks;  // by address
    std::uint16_t device = 0;
    std::uint32_t slots = 0;
    std::uint64_t truths = 0;
    bool has_plain = false;  // segment_alloc occurs
    bool has_pages = false;  // segment_map occurs
    std::vector<SegmentLife> lives;
    std::unordered_map<std::size_t, std::size_t> births;  // step -> life
    std::uint32_t groups = 0;
    bool has_unknown_pools = false;  // some life could be in another pool than assumed
};

// One lane for each device. O(events). Errors: those of the cursor; bad_input for events that no
// reader writes (a device or slot out of range, a block outside its segment).
Result<std::vector<RecordedLane>> record_lanes(const Trace& trace);

// Finds the lives, and for each the pool: as the snapshot says if it is alive at the end; else by
// the order in which things go back when caches are emptied: large and small blocks of the default
// pool, then small and large ones of each private pool that is no longer in use. `next_pool` is the
// first PoolId that is free for pools which nobody has named; `captures`: the program is known to
// capture graphs, which happens on streams of its own. O(steps).
void assume_pools(RecordedLane& lane, std::uint32_t next_pool, bool captures);

}  // namespace tidemark
