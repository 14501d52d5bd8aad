// MemoryNow: the memory that a run holds at one moment, segment by segment, with every block at its
// position: what is in use, what is pending free, what is free and in which pieces. Second mappings
// (views) have bars too, without memory; a block in one is on both bars, and counts at its home.
//
// Pure, thread-safe; for jobs: O(segments + live log live).
#pragma once

#include <cstdint>
#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

struct NowBlock {
    BlockIndex block = kNoBlock;
    Bytes at = 0;  // on the bar
    Bytes size = 0;
    std::uint32_t site = 0;
    bool waits = false;  // pending free

    friend bool operator==(const NowBlock&, const NowBlock&) = default;
};

// Addresses of a reservation without memory behind them, on its bar.
struct NowHole {
    Bytes at = 0;
    Bytes shown = 0;  // its length on the bar
    Bytes size = 0;   // and the real length: long ones are cut short

    friend bool operator==(const NowHole&, const NowHole&) = default;
};

// A segment, a reservation from its first to its last page, or blocks outside any.
struct NowBar {
    Range range;       // of addresses
    Bytes length = 0;  // of the bar: range.size without what holes are cut short by
    std::uint16_t device = 0;
    SegmentKind kind = SegmentKind::segment;
    bool known = true;  // false: no segment, only blocks
    std::uint32_t stream = 0;
    EventIndex born = 0;
    Bytes memory = 0;
    Bytes taken = 0;    // by blocks, pending free ones included
    Bytes waiting = 0;  // of it
    Bytes gap_at = 0;   // the largest free piece, on the bar
    Bytes gap = 0;
    std::uint32_t gaps = 0;
    std::uint32_t first_block = 0;  // of MemoryNow::blocks, by address
    std::uint32_t blocks = 0;
    std::uint32_t first_hole = 0;
    std::uint32_t holes = 0;

    Bytes free() const { return memory - taken; }
};

struct MemoryNow {
    EventIndex event = 0;
    std::vector<NowBar> bars;  // by device and address
    std::vector<NowBlock> blocks;
    std::vector<NowHole> holes;
    Bytes memory = 0;
    Bytes taken = 0;
    Bytes waiting = 0;
    Bytes gap = 0;  // the largest free piece of all
    std::uint64_t gaps = 0;
    std::size_t views = 0;      // of the bars
    std::uint32_t gap_bar = 0;  // whose it is

    Bytes free() const { return memory - taken; }
};

// After `event`. Empty when cancelled.
MemoryNow memory_now(const History& history, EventIndex event, const Cancelled& cancelled);

// The block at an offset of a bar; kNoBlock if it is free. O(log blocks).
BlockIndex block_at(const MemoryNow& now, const NowBar& bar, Bytes at);

// Bars by size, the largest first; `by_address` leaves them as they are.
std::vector<std::uint32_t> bar_order(const MemoryNow& now, bool by_address);

}  // namespace tidemark::viz
