// Packing: the heuristics of the planner. Rectangles of time and bytes, placed one after another.
//
// Part of core/capture/planner.h, which explains their purpose and origin. All are deterministic;
// ties are broken by the rectangle's number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace tidemark::packing {

// An allocation of `size` bytes from `begin` to `end`, at a multiple of `alignment`.
struct Rectangle {
    Bytes size = 0;
    Bytes alignment = 1;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;    // > begin
    std::uint32_t clear = 0;  // >= end: whatever begins from here on may take the bytes
    std::uint32_t stream = 0;
};

// Must two rectangles not share bytes, although the first ends before the second begins (but is not
// yet `clear`)? Empty: then `clear` equals `end` for all.
using Meets = std::function<bool(std::uint32_t first, std::uint32_t second)>;

enum class Gap : std::uint8_t { lowest, tightest };

// Places rectangles in a given order. Not thread-safe.
class Packer {
  public:
    // The rectangles must outlive it.
    Packer(std::span<const Rectangle> rectangles, Meets meets);

    // How many pairs one call of pack() has to look at. O(n log n).
    std::uint64_t pairs() const;

    // Writes an offset for each rectangle and returns the height. O(n log n + pairs log pairs).
    Bytes pack(std::span<const std::uint32_t> order, Gap gap, std::vector<Bytes>& offsets);

  private:
    struct Placed {
        Bytes begin = 0;
        Bytes end = 0;
    };

    std::uint32_t rank_from(std::uint32_t position) const;
    void set(std::uint32_t rank, std::uint32_t clear);
    void gather(std::uint32_t number, const std::vector<Bytes>& offsets);
    template <class Visit>
    void visit(std::uint32_t begin, std::uint32_t end, std::uint32_t above, Visit visit) const;
    bool do_meet(std::uint32_t a, std::uint32_t b) const;
    Bytes lowest_gap(const Rectangle& one) const;
    Bytes tightest_gap(const Rectangle& one) const;

    std::span<const Rectangle> all_;
    Meets meets_;
    std::vector<std::uint32_t> by_begin_;  // rank -> number
    std::vector<std::uint32_t> ranks_;     // number -> rank
    std::uint32_t leaves_ = 1;             // a power of two
    std::vector<std::uint32_t> tree_;      // of maxima of `clear` over ranks that are placed
    std::vector<Placed> met_;              // by gather(): what the current one meets, by offset
};

// In order of time, each into the tightest hole between the blocks that are live then: as an
// allocator would, but with holes joined immediately. Rectangles on different streams share
// nothing. Returns the height. O(n log n).
Bytes sweep(std::span<const Rectangle> rectangles, std::vector<Bytes>& offsets);

// The largest sum of sizes at any position. O(n log n).
Bytes most_at_once(std::span<const Rectangle> rectangles);

}  // namespace tidemark::packing
