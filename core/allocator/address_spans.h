// AddressSpan: a piece of the addresses that an allocator keeps reserved, with or without memory
// behind it. It shows what the allocator's regions don't: holes aren't in any region, and zombies
// are second mappings of memory that is shown elsewhere. For people, tests and bug reports.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/units.h"

namespace tidemark {

class Allocator;

struct AddressSpan {
    enum class State : std::uint8_t {
        allocated,
        free,
        waiting,  // freed; an order between streams is still to be made
        zombie,   // still mapped here, used elsewhere
        hole,     // no memory
        stuck,    // unused memory that the device refused to take back
    };
    Range range;
    std::uint32_t root = 0;  // which reservation
    State state = State::hole;
    bool owned = false;                          // by a stream; false: by nobody yet
    StreamId stream = StreamId::default_stream;  // that it was granted to or freed on
    bool done = false;                           // free, and any stream may take it
    std::uint64_t id = 0;                        // free, zombie: its age, higher is younger
};

std::string_view to_text(AddressSpan::State state);  // "allocated", ...

// Sums over all spans. reserved == allocated + free + waiting + zombies + holes + stuck.
struct AddressTotals {
    Bytes reserved = 0;  // addresses
    Bytes allocated = 0;
    Bytes free = 0;
    Bytes waiting = 0;
    Bytes zombies = 0;
    Bytes holes = 0;
    Bytes stuck = 0;

    void add(const AddressSpan& span);

    friend bool operator==(const AddressTotals&, const AddressTotals&) = default;
};

// The totals of an allocator's spans (Allocator::for_each_address). O(spans).
AddressTotals address_totals(const Allocator& allocator);

}  // namespace tidemark
