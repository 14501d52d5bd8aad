// LiveMemory: what the program has allocated and not freed, by address: on which device, and in
// which context, whose end is its end too. Frees say neither.
//
// Model: open addressing with linear probing, at most half full, and deletion by shifting back, as
// core/base/hash_index.h, but the table itself holds the values: after a driver call, each cache
// line that is touched has to come from farther away.
//
// Thread-safe: cut into parts by address, each with a lock of its own, which threads that allocate
// at the same time rarely share. O(1), but for end_context.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cuda/driver_api.h"
#include "replay/inject/brief_lock.h"
#include "traces/live/publisher.h"

namespace tidemark::inject {

// What is kept of an allocation, in half a cache line: how it was recorded, but for its tag, its
// stack and its stream, which its end has as well.
struct alignas(32) LiveAllocation {
    std::uint64_t address = 0;  // 0: there is none
    std::uint64_t size = 0;
    cuda::CUcontext context = nullptr;
    PoolId pool = PoolId::default_pool;
    std::uint8_t device = 0;
    bool is_mapping = false;  // of memory that another process has allocated
};

static_assert(sizeof(LiveAllocation) == 32);

class LiveMemory {
  public:
    // Returns what was there, whose end was missed.
    std::optional<LiveAllocation> add(const LiveAllocation& allocation);

    // False: no allocation is known at that address.
    bool take(std::uint64_t address, LiveAllocation& taken);

    // Takes all of the context. O(live).
    std::vector<LiveAllocation> end_context(cuda::CUcontext context);

  private:
    static std::uint64_t hash(std::uint64_t address) { return address * 0x9e3779b97f4a7c15U; }

    struct alignas(64) Part {
        BriefLock lock;
        unsigned shift = 60;    // 64 - log2(slots.size())
        std::size_t count = 0;  // of live allocations
        std::vector<LiveAllocation> slots = std::vector<LiveAllocation>(16);

        std::size_t home(std::uint64_t address) const { return hash(address) >> shift; }

        std::size_t after(std::size_t slot) const { return (slot + 1) & (slots.size() - 1); }

        // Where it is, or the vacant slot where it would be.
        std::size_t find(std::uint64_t address) const;
        void vacate(std::size_t hole);
        void grow();
    };

    Part& part_of(std::uint64_t address) { return parts_[(hash(address) >> 32U) % parts_.size()]; }

    std::array<Part, 16> parts_;
};

}  // namespace tidemark::inject
