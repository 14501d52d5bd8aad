// TorchChoice: a point in the space of PYTORCH_ALLOC_CONF that `advise` searches, and its texts.
//
// Pure values and functions; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/allocator/spec.h"

namespace tidemark {

constexpr std::size_t kTorchOctaves = 16;  // of roundup_power2_divisions, from 1 MiB up

struct TorchChoice {
    bool expandable = false;
    std::uint64_t max_split_mb = 0;                        // 0 = no limit
    std::uint64_t non_split_rounding_mb = 20;              // matters with max_split_mb only
    std::array<std::uint32_t, kTorchOctaves> divisions{};  // 0 = off, else a power of two above 1
    unsigned gc_percent = 0;                               // of the limit; 0 = off
    std::uint64_t large_segment_mb = 20;                   // for requests of 1 to 10 MiB

    // Keys that differ from PyTorch's defaults; a list counts its entries. What a review would have
    // to explain.
    std::size_t complexity() const;

    // Which keys are set, as bits: choices of one family are variations of each other.
    unsigned family() const;

    // "expandable_segments:True,max_split_size_mb:128", "" for the defaults. Equal choices have
    // equal texts, and only they. Lists name the last key twice ("16:8,>:8"), because versions of
    // PyTorch differ in what '>' does to the key before it.
    std::string text() const;

    friend bool operator==(const TorchChoice&, const TorchChoice&) = default;
};

// What `spec`, of policy torch, says about the keys of a choice. A threshold that is not a whole
// percentage is rounded. Errors (bad_option): as the policy's own.
Result<TorchChoice> choice_of(const PolicySpec& spec);

// `base`, of policy torch, with the keys of `choice` instead of its own: whatever else it sets
// stays. Errors (bad_option): those of the policy.
Result<PolicySpec> with_choice(const PolicySpec& base, const TorchChoice& choice);

// The value of PYTORCH_ALLOC_CONF that makes PyTorch behave like `spec`, of policy torch: keys that
// are not at their default, True and False, without what PyTorch has no key for (limit, version).
std::string torch_conf(const PolicySpec& spec);

}  // namespace tidemark
