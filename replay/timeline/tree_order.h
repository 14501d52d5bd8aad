// TreeOrder: where the nodes of a growing tree are if each is appended when it is complete: its
// children first, then itself. So one column holds all levels, grows at its end, and its nodes
// never move.
//
// Level 0 are the leaves' own nodes; a node of level L + 1 has 16 children of level L.
#pragma once

#include <cstddef>

namespace tidemark {

struct TreeOrder {
    static constexpr std::size_t kBits = 4;
    static constexpr std::size_t kFanOut = std::size_t{1} << kBits;

    // The place of the `index`-th node of `level`. O(levels).
    static constexpr std::size_t position(std::size_t level, std::size_t index) {
        const std::size_t last = ((index + 1) << (kBits * level)) - 1;  // leaf below it
        std::size_t before = 0;  // nodes that were complete before that leaf, but for its own line
        for (std::size_t nodes = last; nodes != 0; nodes >>= kBits)
            before += nodes;
        return before + level;
    }

    // How many nodes there are over `leaves` complete leaves. O(levels).
    static constexpr std::size_t count(std::size_t leaves) {
        std::size_t sum = 0;
        for (; leaves != 0; leaves >>= kBits)
            sum += leaves;
        return sum;
    }

    // The level of the largest node that begins at leaf `begin` and ends by `end`. O(levels).
    static constexpr std::size_t level_from(std::size_t begin, std::size_t end) {
        std::size_t level = 0;
        for (std::size_t span = kFanOut; begin % span == 0 && begin + span <= end; span *= kFanOut)
            ++level;
        return level;
    }

    // The level of the largest node that ends at leaf `end`, which must not be 0. O(levels).
    static constexpr std::size_t level_to(std::size_t end) {
        std::size_t level = 0;
        for (std::size_t span = kFanOut; end % span == 0; span *= kFanOut)
            ++level;
        return level;
    }

    // Calls `visit(level, index)` for nodes that together are the leaves [begin, end), as few as
    // there can be, but not in their order. O(16 * levels).
    template <class Visit>
    static void cover(std::size_t begin, std::size_t end, Visit&& visit) {
        for (std::size_t level = 0; begin < end; ++level) {
            while (begin < end && begin % kFanOut != 0)
                visit(level, begin++);
            while (begin < end && end % kFanOut != 0)
                visit(level, --end);
            begin >>= kBits;
            end >>= kBits;
        }
    }
};

}  // namespace tidemark
