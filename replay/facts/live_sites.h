// LiveSites: what the program holds at a moment, by the sites that its blocks come from.
//
// Code that shows what holds a peak starts here, and adds names for the sites.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "replay/timeline/history.h"

namespace tidemark::facts {

// Blocks that have something in common.
struct LiveBlocks {
    Bytes bytes = 0;
    std::uint64_t blocks = 0;
    Bytes largest_size = 0;
    BlockIndex largest = kNoBlock;  // of equals, the earliest

    void add(const LiveBlocks& more);
};

struct LiveSites {
    std::unordered_map<std::uint32_t, LiveBlocks> by_site;  // History::site
    std::unordered_map<Bytes, LiveBlocks> by_size;
    std::vector<BlockIndex> largest;  // the largest first; of equals, the earlier
    std::uint64_t blocks = 0;
};

// After `event`, without what was freed and only waits for its device; at most `most` of the
// largest. Pure; O(live log most). Cancelled: in part.
LiveSites live_sites(const History& history, EventIndex event, std::size_t most,
                     const std::atomic<bool>& cancelled);

}  // namespace tidemark::facts
