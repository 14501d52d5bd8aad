// BumpArena: addresses for what one graph capture allocates, handed out upwards and never twice.
//
// Model: the arena of numr (ml-rust/numr, src/runtime/cuda/arena.rs): a cursor runs through a given
// range; each allocation takes the next bytes, in units of 256, and 0 bytes take a unit. Giving
// back is bookkeeping: the cursor never moves back, so two nodes of a graph can never share bytes.
// The arena must therefore hold the sum of all sizes, not their peak. Unlike there, a base that is
// not aligned costs its padding instead of misaligning everything, sizes near 2^64 are refused
// instead of wrapping, and frees of what isn't live are told apart and reported.
//
// It knows addresses only, not memory: who owns the range may make it longer (extend), not move it.
// A value; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// Why an arena refused: what was asked for, and how much of how much was given away already.
struct ArenaFull {
    Bytes requested = 0;
    Bytes used = 0;
    Bytes total = 0;

    friend bool operator==(const ArenaFull&, const ArenaFull&) = default;
};

// "the arena is full: 4096 bytes asked for, 512 of 1024 used" with a hint.
Error to_error(const ArenaFull& full);

class BumpArena {
  public:
    static constexpr Bytes kUnit = 256;

    enum class Freed : std::uint8_t {
        freed,
        double_free,  // it was live once, and has been freed
        unknown,      // inside, but no allocation begins there
        outside,      // not an address of this arena
    };

    // One that is live: where, and what it costs.
    struct Live {
        Bytes offset = 0;  // from the base
        Bytes size = 0;    // rounded up to units
    };

    BumpArena() = default;  // of no bytes: refuses everything

    // Over `size` bytes at `base`. The first address is the first unit boundary in it.
    BumpArena(Address base, Bytes size);

    // The address of `size` bytes, a multiple of `alignment` (a power of two; units at least).
    // Amortised O(1). A refusal changes nothing.
    tl::expected<Address, ArenaFull> allocate(Bytes size, Bytes alignment = kUnit);

    // Notes that nobody uses what begins at `address` any more. O(log allocations).
    Freed deallocate(Address address);

    // Makes the range longer, in place: `size` is its new length. Never shorter. O(1).
    void extend(Bytes size);

    // Leaves out what lies below `offset`, counted from the base. Never backwards. O(1).
    void skip_to(Bytes offset);

    // What allocate(size, alignment) needs the range's length to be; UINT64_MAX if no length would
    // do. O(1).
    Bytes needed_for(Bytes size, Bytes alignment = kUnit) const;

    Address base() const { return base_; }

    Bytes size() const { return size_; }

    // Up to where bytes were handed out, from the base. Never moves back.
    Bytes high_water() const { return high_water_; }

    std::size_t live_count() const { return live_count_; }

    Bytes live_bytes() const { return live_bytes_; }

    // Those that are live, by address. O(allocations).
    std::vector<Live> live() const;

  private:
    struct Record {
        Bytes offset = 0;
        Bytes size = 0;
        bool live = false;
    };

    Address base_ = Address::null;
    Bytes size_ = 0;
    Bytes high_water_ = 0;
    std::size_t live_count_ = 0;
    Bytes live_bytes_ = 0;
    std::vector<Record> records_;  // by offset, since offsets only grow
};

std::string_view to_text(BumpArena::Freed freed);

}  // namespace tidemark
