// MaxTree: a number for each of 0, 1, 2, ..., and which of them has the largest.
//
// A tournament: each inner node has the larger of its children. A value: copying it copies the
// numbers. Not thread-safe. Memory: two numbers for each index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

class MaxTree {
  public:
    // Indices that were not set have 0.
    Bytes operator[](std::size_t index) const {
        return index < width_ ? nodes_[width_ + index] : 0;
    }

    Bytes largest() const { return width_ == 0 ? 0 : nodes_[1]; }

    // The first index that has the largest number; meaningless while there is none. O(log n).
    std::size_t where_largest() const {
        std::size_t node = 1;
        while (node < width_)
            node = nodes_[2 * node] == nodes_[node] ? 2 * node : 2 * node + 1;
        return node - width_;
    }

    // O(log n); O(n) where there was no such index, amortised O(1) over indices.
    void set(std::size_t index, Bytes number) {
        if (index >= width_)
            widen(index);
        std::size_t node = width_ + index;
        nodes_[node] = number;
        for (node /= 2; node != 0; node /= 2)
            nodes_[node] = std::max(nodes_[2 * node], nodes_[2 * node + 1]);
    }

  private:
    void widen(std::size_t index) {
        std::size_t width = std::max<std::size_t>(width_, 1);
        while (width <= index)
            width *= 2;
        std::vector<Bytes> nodes(2 * width);
        std::copy_n(nodes_.begin() + static_cast<std::ptrdiff_t>(width_), width_,
                    nodes.begin() + static_cast<std::ptrdiff_t>(width));
        for (std::size_t node = width - 1; node != 0; --node)
            nodes[node] = std::max(nodes[2 * node], nodes[2 * node + 1]);
        nodes_ = std::move(nodes);
        width_ = width;
    }

    std::size_t width_ = 0;     // indices, a power of two
    std::vector<Bytes> nodes_;  // of the children of i: 2i and 2i + 1; indices from width_ on
};

}  // namespace tidemark
