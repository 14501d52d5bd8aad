// DryRun: the size of a bump arena.
#include "core/capture/dry_run.h"

#include "core/capture/bump_arena.h"

namespace tidemark {

Bytes DryRun::volume() const {
    BumpArena arena(Address::null, 2 * kLargestRequest);
    for (const PlannedAllocation& one : allocations_) {
        if (!arena.allocate(one.size, one.alignment))
            return ~Bytes{0};
    }
    return arena.high_water();
}

}  // namespace tidemark
