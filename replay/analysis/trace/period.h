// Period: the longest part of a sequence that is one piece again and again.
// Pure; deterministic; exact.
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
// shortest period. Looked for from the begin and from n/2, n/4, n/8, ... on, and from there back to
// where it begins: so one that begins at b is found if it is longer than b. Z-algorithm (Gusfield
// 1997) from each of these; O(n log n), memory O(n).
Period find_period(std::span<const std::uint32_t> symbols);

}  // namespace tidemark
