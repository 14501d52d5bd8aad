// Sizes of the blocks that were live before a trace's first entry. The trace has the requested
// sizes, not the granted ones: these are the rounded request, plus up to 1 MiB in the large pool,
// where PyTorch doesn't split off smaller rests.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "traces/readers/torch_history.h"

namespace tidemark::torch {

// The settings that determine how large a block becomes, as they were at the dump.
struct Rounding {
    std::array<Bytes, 16> divisions{};  // roundup_power2_divisions; [k] serves 2^(20+k) bytes on
    Bytes max_split = ~Bytes{0};        // blocks of that size are never split

    static Rounding from(const std::vector<std::pair<std::string, std::string>>& settings);

    // What PyTorch allocates for a request below kLargestRequest. O(1).
    Bytes round(Bytes requested) const;
};

// Fills in the sizes of history.early_blocks and removes blocks that are in no run or overlap: a
// sound trace doesn't have any. O(entries) if there are uncertain blocks, else O(blocks).
void size_early_blocks(History& history, const Rounding& rounding);

}  // namespace tidemark::torch
