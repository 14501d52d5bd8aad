// Why memory is fragmented: the gaps that could not be used when the allocator had to grow, and the
// blocks that keep them from being joined or released.
//
// Pure functions of a PeakSnapshot's `growth`; ties are broken by position in the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "replay/analysis/advise/peak.h"
#include "replay/analysis/trace/sites.h"

namespace tidemark {

// Why the allocator had to grow.
struct Gaps {
    Bytes requested = 0;      // by the request that made it grow
    Bytes free = 0;           // what was free just before
    Bytes reachable = 0;      // of that, for requests of this stream, pool and kind of size
    Bytes whole = 0;          // of the reachable, in segments that are entirely free
    Bytes largest = 0;        // the largest single gap among the reachable
    std::uint64_t count = 0;  // how many those are
    Bytes other_streams = 0;  // of `free`, kept for other streams,
    Bytes other_pools = 0;    // for other memory pools,
    Bytes other_sizes = 0;    // or for small requests where this one is large, and the reverse
};

// Segments (or pages) that could not be used or released, by the site that allocated the block that
// stays longest in each of them.
struct PinningSite {
    std::string site;  // Sites::site, or a size class in a trace without stacks
    std::uint64_t segments = 0;
    Bytes free = 0;  // in them: what is pinned
    Bytes largest_gap = 0;
    std::uint64_t blocks = 0;  // those that stay longest, one a segment
    Bytes block_bytes = 0;
    Bytes in_use = 0;        // by all blocks in those segments
    std::uint64_t born = 0;  // the oldest of the blocks: its event
    Nanoseconds born_time = 0;
    std::uint64_t ends = 0;  // the last to be freed; kNotInTrace: not in this trace
    Nanoseconds end_time = 0;
    std::uint32_t stack = 0;                 // of the largest of the blocks
    std::vector<std::uint64_t> events = {};  // that allocated them, in no order
};

// requested == 0: it never grew. `by_size`: the allocator keeps segments for small requests apart,
// as PyTorch's does. O(regions).
Gaps gaps(const PeakSnapshot& snapshot, bool by_size = true);

// The most pinned bytes first, at most `top`. O(regions + live log live).
std::vector<PinningSite> pins(const PeakSnapshot& snapshot, Sites& sites, std::size_t top);

}  // namespace tidemark
