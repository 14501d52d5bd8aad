// ArenaPools: the private pools of the arena policy, each served from an arena.
//
// Model: a private pool is the memory of captured graphs. The memory that it hands out stays the
// pool's until the pool is closed, since the graphs that hold the addresses may run at any time.
// Bump: every address only once (numr). Planned: the pool was told its requests in advance
// (plan_pool), and reuses an address only where the plan, and what really happened, keep the users
// apart. Shared: pools that never run together get the same bytes, and only blocks that are live in
// one of them at that moment are kept from the others. All pools together then need the memory of
// the largest.
//
// An arena grows at a stable address, or has one fixed size from its first request on. A trim
// releases it when all its pools are closed and no block in it is live.
//
// A value that names its device only in calls. Not thread-safe. O(log allocations) a call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/capture/arena_layout.h"
#include "core/capture/arena_memory.h"
#include "core/regions/grants.h"
#include "core/regions/stream_set.h"

namespace tidemark::policies {

struct ArenaPoolSettings {
    bool planned = false;
    bool shared = false;
    Bytes arena = 0;  // bytes of an arena; 0 = it grows
    EscapeRule escapes = EscapeRule::apart;
};

class ArenaPools {
  public:
    explicit ArenaPools(const ArenaPoolSettings& settings) : settings_(settings) {}

    // Serves a request for a private pool, below kLargestRequest.
    tl::expected<Allocation, OutOfMemory> allocate(const Request& request, Device& device);

    void deallocate(std::uint32_t node);

    void record_use(std::uint32_t node, StreamId stream);

    // See Allocator.
    void begin_pool(PoolId id);
    void end_pool(PoolId id);
    void close_pool(PoolId id);
    void plan_pool(PoolId id, std::span<const PlannedAllocation> expected);

    // Releases the memory of pools that have ended to the device, which must have finished; returns
    // the number of arenas. Arenas in use stay.
    std::size_t release_closed(Device& device);

    // The same, whether or not pools are closed: for the very end.
    std::size_t release_unused(Device& device);

    // Would release_closed() find anything?
    bool any_closed() const;

    // The memory of all arenas, and the part of it that is mapped.
    Bytes held() const;
    Bytes mapped() const;

    std::uint64_t deviations() const;

    // Visits every region, arena by arena, in address order.
    void for_each_region(const std::function<void(const Region&)>& visit) const;

  private:
    static constexpr std::uint32_t kNone = 0xffffffffU;

    struct Pool {
        PoolId id = PoolId::default_pool;
        std::uint32_t arena = kNone;
        std::uint32_t scopes = 0;
        std::uint32_t live = 0;
        bool closed = false;
        bool begun = false;  // has a layout
        ArenaLayout layout;
        Plan plan;
        std::vector<PlannedAllocation> expected;
    };

    struct Arena {
        ArenaMemory memory;
        Address high_water = Address::null;  // of all its pools
        std::uint64_t gives = 0;             // how often a block was freed
        StreamSet users;                     // of freed memory
        // how many of the gives a stream is ordered behind
        std::map<StreamId, std::uint64_t> ordered;
    };

    std::uint32_t pool_of(PoolId id);
    tl::expected<std::uint32_t, OutOfMemory> arena_of(std::uint32_t pool, Device& device);
    void begin_layout(Pool& pool);
    bool others_live_in(Range range) const;
    DeviceResult<void> order(Arena& arena, StreamId stream, Device& device);
    bool is_over(std::uint32_t arena, bool closed_only) const;
    std::size_t release(Device& device, bool closed_only);
    void forget(std::uint32_t arena);
    void visit_arena(std::uint32_t arena, std::span<const Grant> grants,
                     const std::function<void(const Region&)>& visit) const;

    ArenaPoolSettings settings_;
    std::vector<Pool> pools_;
    std::vector<Arena> arenas_;
    std::map<PoolId, std::uint32_t> numbers_;   // of pools
    Grants grants_;                             // owner = pool
    std::vector<std::vector<StreamId>> users_;  // of each grant, its own stream first
    std::map<Address, Bytes> live_;             // if shared: live blocks, by address
    std::uint64_t deviations_ = 0;              // of pools that have ended
};

}  // namespace tidemark::policies
