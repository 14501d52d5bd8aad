// Completion of a policy's text ("torch:exp" -> "torch:expandable_segments="), for the shells'
// scripts that `tidemark completion` prints.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/options.h"

namespace tidemark {

// What is completed: a policy's name, and its options.
struct CompletedPolicy {
    std::string_view name;
    std::span<const OptionInfo> options;
};

// All longer texts that `text` may become with the next step: a policy's name, an option that the
// text doesn't have yet, or the value of one that has choices. Pure, thread-safe; O(policies +
// options).
std::vector<std::string> complete_policy(std::string_view text,
                                         std::span<const CompletedPolicy> policies);

}  // namespace tidemark
