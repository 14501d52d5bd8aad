// What must hold of an allocator at every moment, recomputed from its regions and from what the
// program was granted. A violation comes back as a sentence; "" means that all is well.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/allocator/allocator.h"

namespace tidemark::support {

// An allocation that the program has not given back.
struct Live {
    Allocation allocation;
    Bytes requested = 0;
    std::vector<StreamId> streams;  // that use it; the allocation's own first, the last user last
};

// Regions tile their segments, segments are disjoint, every live allocation is one allocated region
// and the other way round, and usage says what they add up to.
std::string violation(const Allocator& allocator, std::span<const Live> live);

// After a trim of everything: each segment that is still held has something allocated in it, or is
// excused: a failed device call left some of it waiting (`after_failure`), or it belongs to a
// private pool, whose segments may outlive their use.
std::string violation_after_trim(const Allocator& allocator, bool after_failure);

// Are these the same regions?
bool same_regions(std::span<const Region> a, std::span<const Region> b);

}  // namespace tidemark::support
