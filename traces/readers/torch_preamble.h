// Sizes of the blocks that lived before a trace's first entry. The trace says what was requested,
// not what PyTorch granted: that is the rounded request, and in the large pool possibly up to 1 MiB
// more, which it did not bother to split off.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "traces/readers/torch_history.h"

namespace tidemark::torch {

// The settings that decide how large a block becomes, as they were at the dump.
struct Rounding {
    std::array<Bytes, 16> divisions{};  // roundup_power2_divisions; [k] serves 2^(20+k) bytes on
    Bytes max_split = ~Bytes{0};        // blocks of that size are never split

    static Rounding from(const std::vector<std::pair<std::string, std::string>>& settings);

    // What PyTorch allocates for a request below kLargestRequest. O(1).
    Bytes round(Bytes requested) const;
};

// Fills in the sizes of history.early_blocks and removes those that lie in no run or on each other:
// blocks that a sound trace doesn't have. O(entries) if there are doubtful blocks, else O(blocks).
void size_early_blocks(History& history, const Rounding& rounding);

}  // namespace tidemark::torch
