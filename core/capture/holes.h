// Holes: the free memory between live blocks, below a top without holes.
//
// The behaviour of an allocator that takes the tightest hole and joins neighbours immediately: the
// planner and the offline bound both start with the packing that this gives. Not thread-safe.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "core/base/units.h"

namespace tidemark::packing {

class Holes {
  public:
    // The offset of the tightest hole that takes `size` (not 0) at a multiple of `alignment`, the
    // lowest of equals; or of the top. O(log holes), with an alignment O(holes) at worst.
    Bytes take(Bytes size, Bytes alignment = 1);

    // Frees what take() returned. O(log holes).
    void give(Bytes begin, Bytes size);

    // The highest end that was ever taken. O(1).
    Bytes top() const { return top_; }

  private:
    void add(Bytes begin, Bytes size);
    void remove(Bytes begin, Bytes size);

    std::map<Bytes, Bytes> holes_;  // begin -> size
    std::set<std::pair<Bytes, Bytes>> by_size_;
    Bytes top_ = 0;
};

}  // namespace tidemark::packing
