// AliasTable: draws an index with given weights in O(1), however many there are (Vose's method, in
// whole numbers, so that every machine draws the same). Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/check.h"

namespace tidemark::generators {

class AliasTable {
  public:
    // At least one weight must not be 0; their sum times their count must be below 2^63.
    explicit AliasTable(std::span<const std::uint32_t> weights);

    // The index that 64 random bits select.
    std::uint32_t pick(std::uint64_t bits) const {
        const std::uint64_t high = bits >> 32U;
        const std::uint64_t low = bits & 0xffffffffU;
        const auto index = static_cast<std::uint32_t>((high * entries_.size()) >> 32U);
        const Entry& entry = entries_[index];
        return low < entry.threshold ? index : entry.alias;
    }

  private:
    struct Entry {
        std::uint64_t threshold = 0;  // of 2^32
        std::uint32_t alias = 0;
    };

    std::vector<Entry> entries_;
};

inline AliasTable::AliasTable(std::span<const std::uint32_t> weights) : entries_(weights.size()) {
    std::uint64_t total = 0;
    for (const std::uint32_t weight : weights)
        total += weight;
    TM_CHECK(total != 0);
    // Each entry's share is its weight times the count; an average one has exactly `total`.
    std::vector<std::uint64_t> share;
    std::vector<std::uint32_t> below;
    std::vector<std::uint32_t> above;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        share.push_back(weights[i] * weights.size());
        (share[i] < total ? below : above).push_back(static_cast<std::uint32_t>(i));
    }
    while (!below.empty() && !above.empty()) {
        const std::uint32_t poor = below.back();
        const std::uint32_t rich = above.back();
        below.pop_back();
        entries_[poor] = {(share[poor] << 20U) / total << 12U, rich};
        share[rich] -= total - share[poor];
        if (share[rich] < total) {
            above.pop_back();
            below.push_back(rich);
        }
    }
    for (const std::uint32_t whole : above)
        entries_[whole] = {std::uint64_t{1} << 32U, whole};
    for (const std::uint32_t whole : below)
        entries_[whole] = {std::uint64_t{1} << 32U, whole};
}

}  // namespace tidemark::generators
