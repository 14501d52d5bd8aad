// The overview's bars: the composition of each run's reserved memory at its peak, under one axis;
// and who held it.
#pragma once

#include <span>
#include <string>

#include "viz/model/blocks/peak_summary.h"
#include "viz/views/overview_writer.h"

namespace tidemark::viz {

struct PeakBar {
    std::string name;  // empty: there is only one run
    Colour colour = 0;
    const PeakSummary* summary = nullptr;  // null: it isn't known yet
    std::string state;                     // why
    Bytes capacity = 0;                    // of the devices; 0 = unknown
};

// The scale of a full bar: the device, or if that would leave slivers, the largest peak.
Bytes scale_of(std::span<const PeakBar> bars);

// A bar each, as far as there is room, the axis below them, and the figures of bar `shown`.
void draw_peak_bars(Frame& frame, Writer& writer, std::span<const PeakBar> bars, std::size_t shown);

// The largest holders, as far as there is room. A click finds their blocks in the address map.
void draw_holders(Frame& frame, Writer& writer, const History& history, const PeakSummary& summary);

}  // namespace tidemark::viz
