// Grid: many settings of a policy as one text, "torch:max_split_size_mb=64,128,expandable_segments=
// true,false": a policy as people type it, whose options may have several values. A part after a
// comma without '=' is another value of the option before it; "64..512*2" are 64, 128, 256 and 512,
// "0.2..0.8+0.2" are 0.2, 0.4, 0.6 and 0.8, with the unit that the first has ("64MiB..1GiB*2").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tidemark {

constexpr std::size_t kMostSettings = 10'000;  // of one grid

// The settings, as PolicySpec::text() writes them, the last option changing fastest; equal settings
// appear once. O(settings). Errors (bad_option): those of parse_policy; a range that has no end;
// more than kMostSettings.
Result<std::vector<std::string>> expand_grid(std::string_view text);

// `count` of `settings`, drawn without replacement, in the order that they had; all if there are no
// more. The same for every machine. O(settings).
std::vector<std::string> draw_settings(std::span<const std::string> settings, std::size_t count,
                                       std::uint64_t seed);

}  // namespace tidemark
