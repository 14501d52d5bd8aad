// Adding up blocks, and the free memory between them.
#include "replay/facts/memory_parts.h"

#include <algorithm>

#include "replay/timeline/memory_spans.h"

namespace tidemark::facts {

MemoryParts memory_parts(const History& history, EventIndex event,
                         const std::atomic<bool>& cancelled) {
    MemoryParts parts;
    parts.reserved = history.values(event)[Series::reserved];
    history.for_each_live(event, [&](BlockIndex index) {
        const Block block = history.block(index);
        if (block.waits(event)) {
            parts.waiting += block.size;
            return;
        }
        const Bytes requested = std::min(block.requested, block.size);
        parts.in_use += requested;
        parts.rounding += block.size - requested;
    });
    const Bytes taken = parts.in_use + parts.rounding + parts.waiting;
    const Bytes free = parts.reserved - std::min(parts.reserved, taken);
    parts.fragmentation =
        std::min(free_space(memory_spans(history, event, cancelled)).fragmentation, free);
    parts.cached = free - parts.fragmentation;
    return parts;
}

}  // namespace tidemark::facts
