// Period: the longest part of a sequence that repeats one piece. Pure; deterministic; exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tidemark {

// Each symbol of [begin + length, end) is the one `length` before it.
struct Period {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t length = 0;  // 0: nothing repeats

    std::size_t repeats() const { return length == 0 ? 0 : (end - begin) / length; }
};

// The longest part that repeats at least three times, or twice and is half of all, with its
// shortest period. The search starts at 0 and at n/2, n/4, n/8, ..., and from there goes back to
// where the part begins. So it finds a part that begins at b if it is longer than b. Z-algorithm
// (Gusfield 1997) from each of these; O(n log n), memory O(n).
Period find_period(std::span<const std::uint32_t> symbols);

}  // namespace tidemark
