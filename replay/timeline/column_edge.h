// How a stretch of an axis is cut into the columns of a chart: for code that requests columns and
// code that draws them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "replay/timeline/history.h"

namespace tidemark {

// Where the `column`-th of `columns` begins in [begin, end); that behind the last is `end`. O(1).
constexpr Position column_edge(Position begin, Position end, std::size_t column,
                               std::size_t columns) {
    const auto length = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
    const std::uint64_t share =
        length / columns * column + length % columns * column / columns;  // without overflow
    return static_cast<Position>(static_cast<std::uint64_t>(begin) + share);
}

}  // namespace tidemark
