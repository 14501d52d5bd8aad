// CheckedAllocator: reports to the checker each call of the inner allocator, and its result.
#include "backends/wrap/checked.h"

namespace tidemark {

tl::expected<Allocation, OutOfMemory> CheckedAllocator::allocate(const Request& request) {
    const auto allocation = WrappedAllocator::allocate(request);
    if (allocation)
        checker_.granted(request, *allocation);
    return allocation;
}

void CheckedAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    checker_.deallocating(allocation);
    WrappedAllocator::deallocate(allocation, stream);
}

void CheckedAllocator::record_use(const Allocation& allocation, StreamId stream) {
    checker_.used_on(allocation, stream);
    WrappedAllocator::record_use(allocation, stream);
}

Result<std::vector<Allocation>> CheckedAllocator::restore(std::span<const SeedSegment> segments) {
    Result<std::vector<Allocation>> allocations = WrappedAllocator::restore(segments);
    if (!allocations)
        return allocations;
    std::size_t next = 0;
    for (const SeedSegment& segment : segments) {
        for (const SeedBlock& block : segment.blocks) {
            if (next < allocations->size())
                checker_.granted({.size = block.requested,
                                  .alignment = 1,
                                  .stream = segment.stream,
                                  .pool = segment.pool},
                                 (*allocations)[next++]);
        }
    }
    return allocations;
}

}  // namespace tidemark
