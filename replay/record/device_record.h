// DeviceRecord: what one device did in a trace, laid out for verify: the steps in order, the state
// before them, the state after them, and the lifetime of each segment.
//
// A step is an event that matters to an allocator, truth included. A life is the lifetime of a
// cudaMalloc segment or a reservation; it belongs to one pool from its start to its end, and if the
// record doesn't say which, assume_pools guesses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/allocator/spec.h"
#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// Does an entry of this kind release memory?
constexpr bool is_release(EventKind kind) {
    return kind == EventKind::segment_free || kind == EventKind::segment_unmap;
}

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
    bool known = false;                     // the record says the pool
    bool whole = true;                      // every request in it was at its start
    PoolId pool = PoolId::default_pool;     // known, or the likelier
    PoolId instead = PoolId::default_pool;  // the other possibility
    std::uint32_t group = 0;                // lives of one group are in one pool
};

// What can be decided about a group of lives: the likelier pool, the other possibility, or a
// private pool of its own.
enum class PoolChoice : std::uint8_t { likelier, instead, own };

using PoolChoices = std::map<std::uint32_t, PoolChoice>;  // by group

struct DeviceRecord {
    std::vector<RecordedStep> steps;
    std::vector<SeedSegment> seeds;  // runs of pages of one reservation in a row
    std::vector<std::uint32_t> seed_slots;
    std::vector<TraceEvent> final_segments;
    std::vector<TraceEvent> final_blocks;  // by address
    std::uint16_t device = 0;
    std::uint32_t slots = 0;
    std::size_t streams = 1;
    std::uint64_t truths = 0;
    bool has_plain = false;       // segment_alloc occurs
    bool has_pages = false;       // segment_map occurs
    bool captures = false;        // the program is known to capture graphs, on streams of its own
    Bytes max_split = 0;          // the policy's max_split_size; 0 = unlimited
    std::uint32_t next_pool = 0;  // the first PoolId that is free for pools without a name

    // The memory was the driver's stream-ordered pool's, which has no segments.
    bool is_of_driver_pool() const { return !has_plain && !has_pages && seeds.empty(); }

    // Filled by assume_pools().
    static constexpr std::size_t kNoLife = ~std::size_t{0};
    std::vector<SegmentLife> lives;
    std::unordered_map<std::size_t, std::size_t> births;  // step -> life
    std::vector<std::size_t> life_of_request;             // step -> life, or kNoLife
    std::uint32_t groups = 0;
    std::uint32_t first_own_pool = 0;  // the first of the ids of PoolChoice::own
    std::set<PoolId> whole_pools;      // private ones whose blocks seem never to be split
    bool has_unknown_pools = false;    // some life could be in another pool than assumed
};

// The policy's max_split_size in bytes (DeviceRecord::max_split).
Bytes max_split_of(const PolicySpec& policy);

// One for each device. O(events). Errors: those of the cursor; bad_input for events that no
// reader writes (a device or slot out of range, a block outside its segment).
Result<std::vector<DeviceRecord>> device_records(const Trace& trace);

// Finds the lives, and for each the pool: as the snapshot says if it is alive at the end; else by
// the order in which segments are released when caches are emptied: large and small blocks of the
// default pool, then small and large ones of each private pool that is no longer in use. O(steps).
void assume_pools(DeviceRecord& record);

constexpr std::uint32_t group_key(const SegmentLife& life) {
    return life.group;
}

inline std::uint32_t life_key(const DeviceRecord& record, const SegmentLife& life) {
    return record.groups + static_cast<std::uint32_t>(&life - record.lives.data());
}

// The pool of `life` when groups have been decided on; those that `chosen` lacks are in the
// likelier.
PoolId pool_of(const DeviceRecord& record, const SegmentLife& life, const PoolChoices& chosen);

// The pool of each request (a step of kind allocate) that isn't the one of its event. O(steps).
std::vector<std::pair<std::size_t, PoolId>> changed_pools(const DeviceRecord& record,
                                                          const PoolChoices& chosen);

}  // namespace tidemark
