// The pseudo-randomness of the treaps over blocks: the same blocks make the same tree everywhere.
#pragma once

#include <cstdint>

#include "core/regions/blocks.h"

namespace tidemark {

// A block's number mixed into its priority (Fibonacci hashing with a final fold).
inline std::uint32_t treap_priority(BlockId id) {
    const std::uint64_t mixed = (std::uint64_t{id} + 1) * 0x9e3779b97f4a7c15U;
    return static_cast<std::uint32_t>(mixed >> 32U);
}

}  // namespace tidemark
