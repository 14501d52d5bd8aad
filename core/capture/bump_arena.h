// BumpArena: addresses for the allocations of one graph capture, handed out in increasing order,
// each only once.
//
// Model: the arena of numr (ml-rust/numr, src/runtime/cuda/arena.rs): a cursor runs through a given
// range; each allocation takes the next bytes, in units of 256, and 0 bytes take a unit. Freeing is
// bookkeeping: the cursor never moves back, so two nodes of a graph can never share bytes. The
// arena must therefore hold the sum of all sizes, not their peak. Differences from numr: an
// unaligned base costs its padding instead of misaligning everything, sizes near 2^64 are refused
// instead of wrapping, and frees of anything that isn't live are distinguished and reported.
//
// It handles only addresses, not memory. A value; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/units.h"

namespace tidemark {

class BumpArena {
  public:
    static constexpr Bytes kUnit = 256;

    enum class Freed : std::uint8_t {
        freed,
        double_free,  // it was live once, and has been freed
        unknown,      // inside, but no allocation begins there
        outside,      // not an address of this arena
    };

    BumpArena() = default;  // without bytes: refuses everything

    // Over `size` bytes at `base`. The first address is the first unit boundary in it.
    BumpArena(Address base, Bytes size);

    // The address of `size` bytes, a multiple of `alignment` (a power of two; units at least).
    // Amortised O(1). A refusal (limit) changes nothing.
    tl::expected<Address, OutOfMemory> allocate(Bytes size, Bytes alignment = kUnit);

    // Notes that nobody uses what begins at `address` any longer. O(log allocations).
    Freed deallocate(Address address);

    // Skips everything below `offset`, counted from the base. Never moves backwards. O(1).
    void skip_to(Bytes offset);

    // The length that allocate(size, alignment) needs the range to have; UINT64_MAX if no length
    // would do. O(1).
    Bytes needed_for(Bytes size, Bytes alignment = kUnit) const;

    Address base() const { return base_; }

    // The end of the bytes that were handed out, from the base. Never moves back.
    Bytes high_water() const { return high_water_; }

  private:
    struct Record {
        Bytes offset = 0;
        bool live = false;
    };

    Address base_ = Address::null;
    Bytes size_ = 0;
    Bytes high_water_ = 0;
    std::vector<Record> records_;  // by offset, since offsets only grow
};

}  // namespace tidemark
