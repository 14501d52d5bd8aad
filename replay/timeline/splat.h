// Splat: many rectangles added up on a grid of cells, each with the share of the cell that it
// covers, at a cost that doesn't depend on its size: only the corners are written, and one sum over
// the grid makes areas of them. Whole numbers that may wrap on the way, so nothing drifts.
//
// Coordinates are fixed-point: so many kAcross (kUp) to a cell. Column by column in memory: what
// happens at about the same time lies close together. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tidemark {

class Splat {
  public:
    static constexpr unsigned kAcrossBits = 12;
    static constexpr unsigned kUpBits = 14;
    static constexpr std::uint32_t kAcross = 1U << kAcrossBits;
    static constexpr std::uint32_t kUp = 1U << kUpBits;
    static constexpr std::uint32_t kFull = 1U << (kAcrossBits + kUpBits);  // a whole cell

    Splat(std::uint32_t columns, std::uint32_t rows)
        : columns_(columns),
          rows_(rows),
          stride_(std::size_t{rows} + 2),
          cells_(stride_ * (columns + std::size_t{2})) {}

    // [left, right) x [bottom, top), within the grid. O(1).
    void add(std::uint32_t left, std::uint32_t right, std::uint32_t bottom, std::uint32_t top) {
        if (left >= right || bottom >= top)
            return;
        const Edge from = edge(left, kAcrossBits);
        const Edge to = edge(right, kAcrossBits);
        const Edge low = edge(bottom, kUpBits);
        const Edge high = edge(top, kUpBits);
        add_column(from.cell, from.first, low, high);
        add_column(from.cell + 1, from.second, low, high);
        add_column(to.cell, 0U - to.first, low, high);
        add_column(to.cell + 1, 0U - to.second, low, high);
    }

    // Makes areas of corners, once, when all is added; from then on at() may be asked. O(cells).
    void finish() {
        for (std::uint32_t column = 0; column < columns_; ++column) {
            std::uint32_t* cell = &cells_[column * stride_];
            for (std::uint32_t row = 1; row < rows_; ++row)
                cell[row] += cell[row - 1];
            if (column == 0)
                continue;
            const std::uint32_t* before = cell - stride_;
            for (std::uint32_t row = 0; row < rows_; ++row)
                cell[row] += before[row];
        }
    }

    // Of kFull; more where rectangles overlap.
    std::uint32_t at(std::uint32_t column, std::uint32_t row) const {
        return cells_[column * stride_ + row];
    }

    void clear() { std::fill(cells_.begin(), cells_.end(), 0U); }

  private:
    // An edge counts for its cell and the one after it, by where in the cell it lies.
    struct Edge {
        std::uint32_t cell;
        std::uint32_t first;
        std::uint32_t second;
    };

    static Edge edge(std::uint32_t at, unsigned bits) {
        const std::uint32_t within = at & ((1U << bits) - 1);
        return {at >> bits, (1U << bits) - within, within};
    }

    void add_column(std::uint32_t column, std::uint32_t weight, const Edge& low, const Edge& high) {
        std::uint32_t* cell = &cells_[column * stride_];
        cell[low.cell] += weight * low.first;
        cell[low.cell + 1] += weight * low.second;
        cell[high.cell] -= weight * high.first;
        cell[high.cell + 1] -= weight * high.second;
    }

    std::uint32_t columns_;
    std::uint32_t rows_;
    std::size_t stride_;
    std::vector<std::uint32_t> cells_;
};

}  // namespace tidemark
