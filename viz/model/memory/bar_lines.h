// BarLines: the memory at one moment written like text: segment after segment on one scale, broken
// where a line is full. So all of it fits any screen, and a byte is equally wide everywhere.
//
// Pure; O(bars + blocks + pixels).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "replay/timeline/block_classes.h"
#include "replay/timeline/occupancy.h"
#include "viz/model/memory/memory_now.h"

namespace tidemark::viz {

// A part of a bar on one line.
struct BarPart {
    std::uint32_t bar = 0;  // of MemoryNow::bars
    std::uint32_t line = 0;
    Bytes begin = 0;  // on the bar
    Bytes end = 0;
    double left = 0;  // pixels
    double right = 0;
};

// What is at a pixel.
struct BarPosition {
    std::uint32_t bar = 0;
    Bytes at = 0;  // on the bar
};

class BarLines {
  public:
    BarLines() = default;

    // Bars in `order`, on `lines` lines of `columns` pixels (at least 1 each), `gap` pixels apart
    // where there is room for that.
    BarLines(const MemoryNow& now, std::span<const std::uint32_t> order, std::uint32_t columns,
             std::uint32_t lines, double gap);

    // In the order of lines and pixels.
    const std::vector<BarPart>& parts() const { return parts_; }

    double bytes_per_pixel() const { return scale_; }

    std::uint32_t columns() const { return columns_; }

    std::uint32_t lines() const { return lines_; }

    std::optional<BarPosition> find(std::uint32_t line, double x) const;

    // The parts of a bar that a stretch of it covers, cut to the stretch. O(parts of the bar + log
    // parts).
    std::vector<BarPart> stretch(std::uint32_t bar, Bytes begin, Bytes end) const;

    // A cell for each pixel, line by line, coloured by class.
    std::vector<OccupancyCell> cells(const MemoryNow& now, const History& history,
                                     const BlockClasses& classes) const;

  private:
    bool lay_out(const MemoryNow& now, std::span<const std::uint32_t> order, double gap);

    std::vector<BarPart> parts_;
    std::vector<std::uint32_t> first_part_;  // by bar
    std::uint32_t columns_ = 1;
    std::uint32_t lines_ = 1;
    double scale_ = 1;
};

}  // namespace tidemark::viz
