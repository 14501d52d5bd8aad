// SlowSettings: the settings of PyTorch's caching allocator and the arithmetic of sizes, for the
// slow model (slow_torch.h). Chapter numbers are those of the specification of PyTorch's behaviour.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/base/units.h"

namespace tidemark::model {

constexpr Bytes kMinBlock = 512;        // chapter 0
constexpr Bytes kSmallMax = 1_MiB;      // rounded sizes up to this: small pool
constexpr Bytes kSmallSegment = 2_MiB;  // segment, and page, of the small pool
constexpr Bytes kMinLarge = 10_MiB;     // from here on a segment of its own size
constexpr Bytes kRoundLarge = 2_MiB;

struct SlowSettings {
    static constexpr Bytes kUnlimited = ~Bytes{0};

    Bytes max_split = kUnlimited;
    Bytes max_non_split_rounding = 20_MiB;
    Bytes large_segment = 20_MiB;  // segment from 1 to 10 MiB, and page, of the large pools
    double gc_threshold = 0;       // 0: off
    std::array<Bytes, 16> divisions{};
    bool expandable = false;
    Bytes limit = 0;                      // 0: none
    std::optional<double> fraction = {};  // as the program set it
    unsigned version = 211;

    // Chapter 1. `size` is at least 1.
    Bytes round_size(Bytes size) const;

    // Chapter 3, allocation_size. `rounded` comes from round_size.
    Bytes segment_size(Bytes rounded) const;

    // Chapter 6.4: the limit on reserved bytes of a device of `total` bytes, if there is one.
    std::optional<Bytes> limit_on(Bytes total) const;
};

// Chapter 1: the table that "8" or "[1:2,4:4,>:8]" stands for. `text` must be well-formed.
std::array<Bytes, 16> parse_divisions(std::string_view text);

// Chapter 8.1: what is reserved at once, in pages of `page` bytes, on a device of `total` bytes.
Bytes reservation_size(Bytes total, Bytes page);

}  // namespace tidemark::model
