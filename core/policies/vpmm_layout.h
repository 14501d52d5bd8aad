// VpmmLayout: all addresses that VPMM has reserved, as text and as sums: what Allocator's regions
// don't show, since zombies are second mappings of memory that is shown elsewhere, and holes have
// none. For people, tests and bug reports.
//
// Pure functions of an allocator's state; of an allocator of another policy they show nothing.
// O(blocks log blocks).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/allocator/allocator.h"

namespace tidemark {

// A piece of the reserved addresses; they tile every root.
struct VpmmSpan {
    enum class State : std::uint8_t {
        allocated,
        free,
        waiting,  // let go; an order between streams is still to be made
        zombie,   // still mapped here, used elsewhere
        hole,     // no memory
        stuck,    // memory that nobody uses and the device refused to take back
    };
    Range range;
    std::uint32_t root = 0;
    State state = State::hole;
    bool owned = false;                          // by a stream; else by nobody yet
    StreamId stream = StreamId::default_stream;  // that it was granted to or let go on
    bool done = false;                           // free: may be taken by any stream
    std::uint64_t id = 0;                        // free, zombie: its age, higher is younger
};

// Sums over all spans. reserved == allocated + free + waiting + zombies + holes + stuck.
struct VpmmTotals {
    Bytes reserved = 0;  // addresses
    Bytes allocated = 0;
    Bytes free = 0;
    Bytes waiting = 0;
    Bytes zombies = 0;
    Bytes holes = 0;
    Bytes stuck = 0;

    friend bool operator==(const VpmmTotals&, const VpmmTotals&) = default;
};

// Calls visit for every span, by address within each root.
void for_each_vpmm_span(const Allocator& allocator,
                        const std::function<void(const VpmmSpan&)>& visit);

VpmmTotals vpmm_totals(const Allocator& allocator);

// "[10][+1][-4][*6][.2]": allocated, the newest one (at `newest`), free, zombie and hole, in pages;
// waiting is "[?2]", stuck "[!2]". The hole at a root's end is left out; roots are parted by " | ".
std::string vpmm_layout(const Allocator& allocator, Address newest = Address::null);

}  // namespace tidemark
