// MemoryObserver: is told what an allocator does while it does it: grants, frees, failed requests,
// and the memory that it reserves from the device and releases to it. Recorders of running programs
// implement it.
//
// It is called by the thread that made the call (frees and trims just before they take effect,
// everything else just after), inside whatever lock the caller holds around the allocator. So a
// free is reported after its allocation, and a grant after the free of the bytes' former owner. It
// may not call the allocator or the device, must not block, and cannot report failure.
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

    // `stream` is the caller's. The device may still be using the bytes.
    virtual void on_deallocate(const Allocation& /*allocation*/, StreamId /*stream*/) {}

    virtual void on_record_use(const Allocation& /*allocation*/, StreamId /*stream*/) {}

    virtual void on_trim() {}

    // `size` of a segment_free is 0: the device isn't told it. `home` of map and unmap: another
    // address where the same memory is mapped and counted; null: it is counted here. When a home is
    // unmapped, another address becomes the home, which is reported as an unmap and a map.
    virtual void on_segment(SegmentChange /*change*/, Range /*range*/, StreamId /*stream*/,
                            Address /*home*/) {}
};

}  // namespace tidemark
