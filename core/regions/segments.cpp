// One walk over the free blocks.
#include "core/regions/segments.h"

namespace tidemark {

Released release_unused(SizeIndex& index, Blocks& blocks, Device& device) {
    Released released;
    BlockId id = index.first_from(0, blocks);
    while (id != kNoBlock) {
        const Block block = blocks[id];
        if (block.whole_segment() && device.free(block.address)) {
            index.erase(id, blocks);
            blocks.release(id);
            ++released.segments;
            released.bytes += block.size;
        }
        id = index.next(block, blocks);
    }
    return released;
}

}  // namespace tidemark
