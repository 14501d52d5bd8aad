// Adding up live blocks.
#include "replay/facts/live_sites.h"

#include <algorithm>
#include <tuple>

namespace tidemark::facts {

void LiveBlocks::add(const LiveBlocks& more) {
    if (std::tuple(more.largest_size, largest) > std::tuple(largest_size, more.largest)) {
        largest_size = more.largest_size;
        largest = more.largest;
    }
    bytes += more.bytes;
    blocks += more.blocks;
}

LiveSites live_sites(const History& history, EventIndex event, std::size_t most,
                     const std::atomic<bool>& cancelled) {
    struct Sized {
        Bytes size;
        BlockIndex index;
    };

    const auto goes_first = [](const Sized& a, const Sized& b) {
        return std::tuple(b.size, a.index) < std::tuple(a.size, b.index);
    };
    LiveSites found;
    std::vector<Sized> largest;  // a heap: the first to be removed is at the front
    history.for_each_live(event, [&](BlockIndex index) {
        if (cancelled.load(std::memory_order_relaxed))
            return;
        const Block block = history.block(index);
        if (block.waits(event))
            return;
        const LiveBlocks one{block.size, 1, block.size, index};
        found.by_site[block.site].add(one);
        found.by_size[block.size].add(one);
        ++found.blocks;
        largest.push_back({block.size, index});
        std::ranges::push_heap(largest, goes_first);
        if (largest.size() > most) {
            std::ranges::pop_heap(largest, goes_first);
            largest.pop_back();
        }
    });
    std::ranges::sort_heap(largest, goes_first);
    for (const Sized& one : largest)
        found.largest.push_back(one.index);
    return found;
}

}  // namespace tidemark::facts
