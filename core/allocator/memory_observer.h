// MemoryObserver: receives what an allocator does while it does it: grants, frees, refusals, and
// the memory that comes from and goes back to the device. Recorders of living programs implement
// it.
//
// Called by the thread that made the call (frees and trims just before they take effect, all else
// just after), inside whatever lock the caller holds around the allocator: so frees are reported
// after their allocations, and a grant of bytes after the free of whoever had them. It may not call
// the allocator or the device, must not block, and has no way to fail.
#pragma once

#include <cstdint>

#include "core/allocator/allocator.h"

namespace tidemark {

enum class SegmentChange : std::uint8_t {
    segment_alloc,  // memory from the device, with its addresses
    segment_free,
    reserve,  // addresses without memory
    unreserve,
    map,  // memory behind a part of a reservation
    unmap,
};

class MemoryObserver {
  public:
    virtual ~MemoryObserver() = default;

    virtual void on_allocate(const Request& /*request*/, const Allocation& /*allocation*/) {}

    virtual void on_refused(const Request& /*request*/, const OutOfMemory& /*why*/) {}

    // `stream` is the caller's. The device may still be at work with the bytes.
    virtual void on_deallocate(const Allocation& /*allocation*/, StreamId /*stream*/) {}

    virtual void on_record_use(const Allocation& /*allocation*/, StreamId /*stream*/) {}

    virtual void on_trim() {}

    // `size` of a segment_free is 0: the device isn't given it. `home` of map and unmap: where the
    // same memory is mapped too and counts; null: this is where it counts. When a home is unmapped
    // another place becomes it, and is reported as unmapped and mapped.
    virtual void on_segment(SegmentChange /*change*/, Range /*range*/, StreamId /*stream*/,
                            Address /*home*/) {}
};

}  // namespace tidemark
