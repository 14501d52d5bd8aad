// Popularity: how often each of many things is chosen, by its rank. Zipf's law with a whole
// exponent, in whole numbers, so that every machine draws the same. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace tidemark::generators {

// Weights of `count` ranks, in proportion to 1 / rank^skew, the smallest being 1. For an
// AliasTable.
inline std::vector<std::uint32_t> rank_weights(std::uint64_t count, std::uint64_t skew) {
    constexpr std::uint64_t kFirst = 1U << 24U;
    std::vector<std::uint32_t> weights;
    weights.reserve(count);
    for (std::uint64_t rank = 1; rank <= count; ++rank) {
        std::uint64_t weight = kFirst;
        for (std::uint64_t i = 0; i < skew; ++i)
            weight /= rank;
        weights.push_back(static_cast<std::uint32_t>(weight == 0 ? 1 : weight));
    }
    return weights;
}

}  // namespace tidemark::generators
