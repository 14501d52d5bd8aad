// Alignment of two steps of a program: which request of one is which of the other.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "replay/analysis/scale/step_requests.h"

namespace tidemark {

constexpr std::uint32_t kUnaligned = std::numeric_limits<std::uint32_t>::max();

// Ratios of sizes are exact; this only absorbs rounding errors of doubles.
inline bool same_ratio(double one, double other) {
    return std::abs(one - other) <= 1e-9 * std::abs(other);
}

// For each request of `step` the one of `reference` that it is, ascending, or kUnaligned. Among
// requests in the same order, it matches as many equal ones as possible: those with the same
// symbol, and with sizes that are equal or have the ratio `growth` (of `step` to `reference`; 1:
// not known yet).
//
// By a global alignment in a band around the diagonal (S. B. Needleman and C. D. Wunsch, "A general
// method applicable to the search for similarities in the amino acid sequence of two proteins",
// 1970). O(requests x band), which is wider the more the steps differ in length. Pure.
std::vector<std::uint32_t> align_steps(std::span<const StepRequest> reference,
                                       std::span<const StepRequest> step, double growth);

}  // namespace tidemark
