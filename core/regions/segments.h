// Segments of plain memory: how policies reserve them from the device, and release unused ones.
// Functions without state.
#pragma once

#include <cstdint>

#include "core/device/device.h"
#include "core/regions/blocks.h"
#include "core/regions/size_index.h"

namespace tidemark {

// A segment of `preferred` bytes, or of `needed` if the device has no more. When it is full, tries
// once more after reclaim(), if that reports that it released something.
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

// Plain memory held from the device, which comes in pieces of kPlainUnit.
struct HeldMemory {
    Bytes bytes = 0;
    std::uint64_t taken = 0;  // pieces, ever
    std::uint64_t given_back = 0;

    void take(Bytes size) {
        bytes += whole(size);
        ++taken;
    }

    void give_back(Bytes size) {
        bytes -= whole(size);
        ++given_back;
    }

    static Bytes whole(Bytes size) { return align_up(size, kPlainUnit); }

  private:
    static constexpr Bytes kPlainUnit = 512;  // what Device::malloc promises
};

// Memory that was released to the device.
struct Released {
    std::uint64_t segments = 0;
    Bytes bytes = 0;
    Bytes held = 0;  // including what the device had added by rounding

    void add(Bytes segment) {
        ++segments;
        bytes += segment;
        held += HeldMemory::whole(segment);
    }
};

// Frees every block of `index` that is a whole segment, in the order of the index; those that the
// device refuses to take stay as they are. Device::free waits for all queued work, so no wait is
// needed before. O(free blocks * log free blocks).
template <class Index>
Released release_unused(Index& index, Blocks& blocks, Device& device) {
    Released released;
    BlockId id = index.first_from(0, blocks);
    while (id != kNoBlock) {
        const Block block = blocks[id];
        if (block.whole_segment() && device.free(block.address)) {
            index.erase(id, blocks);
            blocks.release(id);
            released.add(block.size);
        }
        id = index.next(block, blocks);
    }
    return released;
}

// What release_unused would release. O(free blocks * log free blocks).
template <class Index>
Released unused(const Index& index, const Blocks& blocks) {
    Released whole;
    BlockId id = index.first_from(0, blocks);
    while (id != kNoBlock) {
        const Block& block = blocks[id];
        whole.segments += block.whole_segment() ? 1U : 0U;
        whole.bytes += block.whole_segment() ? block.size : 0;
        id = index.next(block, blocks);
    }
    return whole;
}

}  // namespace tidemark
