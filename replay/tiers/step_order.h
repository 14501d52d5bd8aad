// StepOrder: which steps of other streams must have been taken before a step may. In a replay
// streams stall and reach their steps in another order than the recorded one, but the program
// determines lifetimes:
//
//   an allocation  comes after the end of the buffer that had its number before
//   a use          after the allocation of the buffer
//   an end         after the uses of the buffer
//
// (Points, waits and synchronizations have their own rules in the replay.)
// Steps need only earlier ones, so there is always one that may go on.
// Immutable; thread-safe. Nothing for programs with one stream. Memory: O(steps + crossings).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replay/tiers/tier_program.h"

namespace tidemark {

class StepOrder {
  public:
    // O(steps + uses).
    explicit StepOrder(const TierProgram& program);

    // Steps of other streams that must have been taken before this one. O(1).
    std::span<const std::uint32_t> needs(std::uint32_t step) const {
        if (first_.empty())
            return {};
        return std::span(needs_).subspan(first_[step], first_[step + 1] - first_[step]);
    }

  private:
    std::vector<std::uint32_t> first_;  // by step, and one more
    std::vector<std::uint32_t> needs_;
};

}  // namespace tidemark
