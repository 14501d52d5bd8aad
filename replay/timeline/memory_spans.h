// Memory spans: the memory that a run held from its devices at one moment, piece by piece, with its
// content: how much is free, in how many gaps, and which block pins a piece. Blocks in second
// mappings (views) count where the memory has its home.
//
// Pure, thread-safe; O(segments + live log live).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "replay/timeline/history.h"

namespace tidemark {

// A segment, or pages that were mapped side by side.
struct MemorySpan {
    Address begin = Address::null;
    Bytes size = 0;
    Bytes taken = 0;          // by live blocks
    Bytes cached = 0;         // free, in whole segments or pages: it can be released
    Bytes fragmentation = 0;  // unreleasable: a block is in the same segment or page
    Bytes largest_gap = 0;    // of what is free
    std::uint32_t gaps = 0;
    std::uint32_t blocks = 0;     // one with parts in several pieces counts in one
    BlockIndex stays = kNoBlock;  // of its blocks, the one whose bytes are free last
    std::uint16_t device = 0;

    Bytes free() const { return cached + fragmentation; }
};

// After `event`, by device and address; empty when cancelled.
std::vector<MemorySpan> memory_spans(const History& history, EventIndex event,
                                     const std::atomic<bool>& cancelled);

struct FreeSpace {
    Bytes held = 0;  // by all spans
    Bytes free = 0;  // of it: cached and fragmentation
    Bytes cached = 0;
    Bytes fragmentation = 0;
    Bytes largest = 0;  // the largest gap: no larger request can be granted without growing
    std::uint64_t gaps = 0;
    std::uint64_t spans = 0;
    std::uint64_t blocks = 0;

    // What share of the free memory is outside the largest gap; 0 if nothing is free.
    double scattered() const {
        return free == 0 ? 0 : 1 - static_cast<double>(largest) / static_cast<double>(free);
    }
};

// Of one device, or of all. O(spans).
FreeSpace free_space(const std::vector<MemorySpan>& spans,
                     std::optional<std::uint16_t> device = std::nullopt);

}  // namespace tidemark
