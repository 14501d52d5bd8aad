// Segments of plain memory: how policies take them from the device, and give unused ones back.
// Functions without state.
#pragma once

#include <cstdint>

#include "core/device/device.h"
#include "core/regions/blocks.h"
#include "core/regions/size_index.h"

namespace tidemark {

// A segment of `preferred` bytes, or of `needed` if the device has no more. When it is full, once
// more after reclaim(), if that says that it gave something back.
template <class Reclaim>
DeviceResult<Range> malloc_segment(Device& device, Bytes preferred, Bytes needed, Reclaim reclaim) {
    Bytes size = preferred;
    DeviceResult<Address> begin = device.malloc(size);
    if (!begin && needed != preferred) {
        size = needed;
        begin = device.malloc(size);
    }
    if (!begin && begin.error().status == DeviceStatus::out_of_memory && reclaim())
        begin = device.malloc(size);
    if (!begin)
        return tl::make_unexpected(begin.error());
    return Range{*begin, size};
}

// What went back to the device.
struct Released {
    std::uint64_t segments = 0;
    Bytes bytes = 0;
};

// Frees every block of `index` that is a whole segment, in the order of the index (size, address);
// those that the device refuses to take stay as they are. Device::free waits for all queued work,
// so nothing need be awaited before. O(free blocks * log free blocks).
Released release_unused(SizeIndex& index, Blocks& blocks, Device& device);

}  // namespace tidemark
