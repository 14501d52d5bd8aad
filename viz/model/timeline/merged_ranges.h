// Ranges too narrow to be seen one by one are joined until they are visible: a track of a million
// ranges is drawn as a few hundred, each with its count.
//
// Cells are cut at multiples of their length, not where the window starts, so that what is joined
// doesn't change while the camera pans. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "viz/model/session/camera.h"

namespace tidemark::viz {

// `count` neighbours of a track, from `first` on, that cover [begin, end] with the gaps between
// them.
struct MergedRange {
    Position begin = 0;
    Position end = 0;
    std::size_t first = 0;
    std::size_t count = 0;

    friend bool operator==(const MergedRange&, const MergedRange&) = default;
};

// The first of 0 ... `count` for which `holds`, which is false and then true. O(log count).
template <class Holds>
std::size_t first_where(std::size_t from, std::size_t count, const Holds& holds) {
    while (from < count) {
        const std::size_t middle = from + (count - from) / 2;
        if (holds(middle))
            count = middle;
        else
            from = middle + 1;
    }
    return from;
}

// The start of the cell that contains `position`. `length` > 0.
inline Position cell_of(Position position, Position length) {
    const Position rest = position % length;
    return position - (rest < 0 ? rest + length : rest);
}

// What to draw in `window` of `size` ranges that don't overlap, in order: each range that is longer
// than `shortest` or spans the end of a cell of that length alone, the others joined by cell.
// `begin(i)` and `end(i)` rise with i. At most two for each cell, plus the long ones. O(answer *
// log ranges).
template <class Begin, class End>
std::vector<MergedRange> merge_ranges(std::size_t size, const Begin& begin, const End& end,
                                      const Window& window, Position shortest) {
    std::vector<MergedRange> merged;
    shortest = std::max<Position>(shortest, 1);
    const Position from = cell_of(window.begin, shortest);
    std::size_t first = first_where(0, size, [&](std::size_t i) { return end(i) >= from; });
    while (first < size && begin(first) < window.end) {
        const Position cell_end = cell_of(begin(first), shortest) + shortest;
        const std::size_t beyond =
            first_where(first + 1, size, [&](std::size_t i) { return end(i) >= cell_end; });
        const std::size_t last = end(first) >= cell_end ? first : beyond - 1;
        if (end(last) >= window.begin)
            merged.push_back({begin(first), end(last), first, last - first + 1});
        first = last + 1;
    }
    return merged;
}

}  // namespace tidemark::viz
