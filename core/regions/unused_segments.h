// Giving unused segments back: the part of every trim that policies with plain segments share.
#pragma once

#include <cstdint>

#include "core/device/device.h"
#include "core/regions/blocks.h"
#include "core/regions/size_index.h"

namespace tidemark {

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
