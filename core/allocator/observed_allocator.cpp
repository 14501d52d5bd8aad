// Forwards calls, and reports them.
#include "core/allocator/observed_allocator.h"

namespace tidemark {

ObservedAllocator::ObservedAllocator(Allocator& inner, MemoryObserver& observer)
    : ForwardingAllocator(inner), observer_(observer) {}

tl::expected<Allocation, OutOfMemory> ObservedAllocator::allocate(const Request& request) {
    auto granted = ForwardingAllocator::allocate(request);
    if (granted)
        observer_.on_allocate(request, *granted);
    else
        observer_.on_refused(request, granted.error());
    return granted;
}

void ObservedAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    // Reported first: memory that the allocator releases to the device meanwhile comes after the
    // free.
    observer_.on_deallocate(allocation, stream);
    ForwardingAllocator::deallocate(allocation, stream);
}

void ObservedAllocator::record_use(const Allocation& allocation, StreamId stream) {
    ForwardingAllocator::record_use(allocation, stream);
    observer_.on_record_use(allocation, stream);
}

void ObservedAllocator::trim(TrimLevel level) {
    observer_.on_trim();
    ForwardingAllocator::trim(level);
}

Result<std::vector<Allocation>> ObservedAllocator::restore(std::span<const SeedSegment> segments) {
    TM_ASSIGN(std::vector<Allocation> restored, ForwardingAllocator::restore(segments));
    std::size_t next = 0;
    for (const SeedSegment& segment : segments) {
        for (const SeedBlock& block : segment.blocks) {
            const Request request{
                .size = block.requested, .stream = segment.stream, .pool = segment.pool};
            observer_.on_allocate(request, restored[next++]);
        }
    }
    return restored;
}

std::unique_ptr<Allocator> ObservedAllocator::clone(Device& device) const {
    return clone_inner(device);
}

}  // namespace tidemark
