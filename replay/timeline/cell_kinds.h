// CellKinds: for a strip of a heatmap's columns, what kind of block takes most of each cell. And
// the rectangles and strips that blocks are drawn in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/timeline/splat.h"

namespace tidemark {

// A rectangle in the fixed-point coordinates of a Splat.
struct CellPatch {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t bottom = 0;
    std::uint32_t top = 0;
};

// The columns [begin, end) of a heatmap.
struct ColumnStrip {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    std::uint32_t columns() const { return end - begin; }
};

// Which kind takes most of each cell of a strip: the kind of the block that covers most of it. For
// a block that covers little of many cells, its kind is looked up only in a random part of them, so
// that a cell costs the same however many small blocks are in it. Column by column, as a Splat.
class CellKinds {
  public:
    CellKinds(const ColumnStrip& strip, std::uint32_t rows)
        : strip_(strip), rows_(rows), best_(std::size_t{strip.columns()} * rows) {}

    void add(const CellPatch& patch, std::uint32_t lot, std::uint32_t kind) {
        if (patch.left >= patch.right || patch.bottom >= patch.top)
            return;
        Stretch across[3];
        Stretch up[3];
        const std::size_t columns = stretches(patch.left, patch.right, Splat::kAcrossBits, across);
        const std::size_t rows = stretches(patch.bottom, patch.top, Splat::kUpBits, up);
        const std::uint32_t corner = across[0].begin;
        if (corner >= strip_.begin && corner < strip_.end)
            offer(cell(corner, up[0].begin), kSeen | kind);
        for (std::size_t i = 0; i < columns; ++i)
            for (std::size_t k = 0; k < rows; ++k)
                fill(across[i], up[k], lot + static_cast<std::uint32_t>(i * 3 + k), kind);
    }

    // 0: none was looked up.
    std::uint32_t at(std::uint32_t column, std::uint32_t row) const {
        return best_[cell(column, row)] & (kSeen | 0xffffU);
    }

    static constexpr std::uint32_t kWaiting = 0x100;
    static constexpr unsigned kShade = 9;  // two bits from here
    static constexpr std::uint32_t kSeen = 0x8000;

  private:
    // Cells [begin, end) that are covered equally.
    struct Stretch {
        std::uint32_t begin;
        std::uint32_t end;
        std::uint32_t covered;
    };

    std::size_t cell(std::uint32_t column, std::uint32_t row) const {
        return std::size_t{column - strip_.begin} * rows_ + row;
    }

    static std::size_t stretches(std::uint32_t from, std::uint32_t to, unsigned bits,
                                 Stretch* stretch) {
        const std::uint32_t cell = 1U << bits;
        const std::uint32_t first = from >> bits;
        const std::uint32_t last = (to - 1) >> bits;
        if (first == last) {
            stretch[0] = {first, first + 1, to - from};
            return 1;
        }
        stretch[0] = {first, first + 1, cell - (from & (cell - 1))};
        if (last == first + 1) {
            stretch[1] = {last, last + 1, to - (last << bits)};
            return 2;
        }
        stretch[1] = {first + 1, last, cell};
        stretch[2] = {last, last + 1, to - (last << bits)};
        return 3;
    }

    void fill(const Stretch& across, const Stretch& up, std::uint32_t lot, std::uint32_t kind) {
        constexpr std::uint32_t kLittle = Splat::kFull / 16;
        std::uint32_t covered = across.covered * up.covered;
        if (covered < kLittle) {
            if (hash(lot) % kLittle >= covered)
                return;
            covered = kLittle;
        }
        const std::uint32_t offered =
            (covered >> (Splat::kAcrossBits + Splat::kUpBits - 15)) << 16 | kSeen | kind;
        const std::uint32_t begin = std::max(across.begin, strip_.begin);
        const std::uint32_t end = std::min(across.end, strip_.end);
        for (std::uint32_t column = begin; column < end; ++column)
            for (std::uint32_t row = up.begin; row < up.end; ++row)
                offer(cell(column, row), offered);
    }

    void offer(std::size_t cell, std::uint32_t offered) {
        best_[cell] = std::max(best_[cell], offered);
    }

    static std::uint32_t hash(std::uint32_t value) {
        value = (value ^ (value >> 16U)) * 0x7feb352dU;
        value = (value ^ (value >> 15U)) * 0x846ca68bU;
        return value ^ (value >> 16U);
    }

    ColumnStrip strip_;
    std::uint32_t rows_;
    std::vector<std::uint32_t> best_;  // cover << 16 | kSeen | shade | kWaiting | kind: the
                                       // largest wins
};

}  // namespace tidemark
