// RankMajority: which ranks depart from the others, where ranks that should request the same sizes
// stop doing so. The others are the largest group that agrees; of equal groups, the one with the
// lowest rank. A rank that ends earlier has not departed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace tidemark::facts {

class RankMajority {
  public:
    static constexpr Bytes kEnded = ~Bytes{0};  // instead of a size

    struct Left {
        std::size_t rank = 0;
        Bytes size = 0;   // that it requests
        Bytes usual = 0;  // that the others request
    };

    explicit RankMajority(std::size_t ranks);

    // Those that have not left, rising.
    const std::vector<std::size_t>& together() const { return together_; }

    // What the ranks that are still together request next, in their order. Returns those that
    // depart; ranks that have ended no longer belong to the others. O(ranks log ranks).
    std::vector<Left> part(std::span<const Bytes> sizes);

  private:
    std::vector<std::size_t> together_;
};

}  // namespace tidemark::facts
