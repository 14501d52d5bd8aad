// Priming: a program that allocates one piece of memory at its start, and frees it at once, has one
// segment from which PyTorch's allocator cuts blocks that would otherwise need many. It needs
// neither virtual memory nor a setting; its cost is that the memory is held from the start.
#pragma once

#include <optional>

#include "replay/analysis/advise/search.h"

namespace tidemark {

// Most replays of one search.
constexpr std::size_t kPrimingTrials = 17;

// The size with the lowest peak, if it improves on `before`; none otherwise. `setup.base` has the
// settings that `before` is of. Pure; O(kPrimingTrials * events). Errors: as run_trial.
Result<std::optional<Tried>> search_priming(const Trace& trace, const SearchSetup& setup,
                                            const Tried& before);

}  // namespace tidemark
