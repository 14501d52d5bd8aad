// Occupancy: heatmaps of address against time. A cell says which share of its bytes x time was
// taken by blocks, which share had memory behind it, and what kind of block took most. A block in
// a second mapping (view) counts at its home; there it only shows its kind.
//
// The sum of the cells is the integral of bytes over time, to within a 255th of a cell each: no
// block is too small to count. Cost grows with the blocks that meet the heatmap, hardly with their
// area. Pure; thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "replay/timeline/address_layout.h"
#include "replay/timeline/block_classes.h"
#include "replay/timeline/history.h"

namespace tidemark {

// What a heatmap shows: a stretch of time and a stretch of the layout's axis, both half-open and
// not empty, cut into cells.
struct OccupancyFrame {
    AxisUnit unit = AxisUnit::time;
    Position begin = 0;
    Position end = 1;
    Bytes bottom = 0;  // offsets of an AddressLayout
    Bytes top = 1;
    std::uint32_t columns = 1;  // at most 8192 each
    std::uint32_t rows = 1;

    friend bool operator==(const OccupancyFrame&, const OccupancyFrame&) = default;
};

struct OccupancyCell {
    std::uint8_t taken = 0;   // share held by blocks, of 255; 0 only where there is none
    std::uint8_t memory = 0;  // share with memory that counts here: segments and mapped pages
    std::uint8_t kind = 0;    // of BlockClasses: whose block takes most; where `taken` is not 0
    std::uint8_t flags = 0;

    friend bool operator==(const OccupancyCell&, const OccupancyCell&) = default;
};

// OccupancyCell::kind of blocks that OccupancyOptions::shows leaves out.
constexpr std::uint8_t kHiddenKind = 255;

// OccupancyCell::flags.
constexpr std::uint8_t kWaitingCell = 1;   // what takes most is pending free on the device
constexpr std::uint8_t kReservedCell = 2;  // addresses are reserved, for some of the time
constexpr std::uint8_t kShadeBits = 2;     // two bits from here: shade_of() what takes most

// Neighbours of one class can be distinguished if they have different shades: 0 to 3, by chance.
constexpr std::uint8_t shade_of(BlockIndex block) {
    return static_cast<std::uint8_t>(block * 0x9e3779b9U >> 30U);
}

constexpr std::uint8_t shade_of(const OccupancyCell& cell) {
    return cell.flags >> kShadeBits & 3U;
}

struct OccupancyHeatmap {
    OccupancyFrame frame;
    std::vector<OccupancyCell> cells;  // row by row, the lowest addresses first
    EventIndex events = 0;             // of the history, when it was made
    bool complete = false;             // false: cancelled on the way, shows a part

    const OccupancyCell& at(std::uint32_t column, std::uint32_t row) const {
        return cells[std::size_t{row} * frame.columns + column];
    }
};

struct OccupancyOptions {
    const std::atomic<bool>* cancel = nullptr;
    std::function<void(double share)> progress = {};  // from one of the threads, rising
    unsigned threads = 0;                             // 0: as many as pay, at most the cores
    // Blocks for which this is false get kHiddenKind. Called from several threads.
    std::function<bool(const Block&)> shows = {};
};

// What happened to the blocks of `history` within `frame`. About 30 ns a block and core, 10 ns a
// cell. Blocks that no device is done with yet last until the end of the history.
OccupancyHeatmap draw_occupancy(const History& history, const AddressLayout& layout,
                                const BlockClasses& classes, const OccupancyFrame& frame,
                                const OccupancyOptions& options = {});

// All of the run. `columns` x `rows` as needed, e.g. 4096 x 2048.
OccupancyFrame whole_frame(const History& history, const AddressLayout& layout, AxisUnit unit,
                           std::uint32_t columns, std::uint32_t rows);

}  // namespace tidemark
