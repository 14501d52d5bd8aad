// LiveMemory: what the program has allocated and not ended, by address: of which device, and in
// which context, whose end is its end too. Frees don't say either.
//
// Thread-safe: cut into parts by address, each with a lock of its own, which threads that allocate
// at the same time rarely share. O(1), but for end_context.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/cuda/driver_api.h"
#include "core/base/hash_index.h"
#include "core/base/vacant_ids.h"
#include "traces/live/publisher.h"

namespace tidemark::inject {

struct LiveAllocation {
    live::ReportedEvent begin;  // as it was recorded
    cuda::CUcontext context = nullptr;
};

class LiveMemory {
  public:
    // Returns what was there, whose end was missed.
    std::optional<LiveAllocation> add(const live::ReportedEvent& begin, cuda::CUcontext context);

    // False: nothing is known there.
    bool take(std::uint64_t address, LiveAllocation& taken);

    // Takes all of the context. O(live).
    std::vector<LiveAllocation> end_context(cuda::CUcontext context);

  private:
    struct alignas(64) Part {
        std::mutex mutex;
        HashIndex slots;  // of `allocations`, by address
        VacantIds vacant;
        std::vector<LiveAllocation> allocations;  // vacant: at address 0

        bool take(std::uint64_t address, LiveAllocation& taken);
    };

    Part& part_of(std::uint64_t address) {
        return parts_[(address * 0x9e3779b97f4a7c15U >> 32U) % parts_.size()];
    }

    std::array<Part, 16> parts_;
};

}  // namespace tidemark::inject
