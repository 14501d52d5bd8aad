// Ticks of axes, with their labels. Times and events have steps of 1, 2 and 5, times above a minute
// those of clocks, sizes powers of two. Labels of one axis differ from each other, have a unit, and
// show no digit that the step doesn't need.
//
// Pure; O(ticks).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replay/timeline/history.h"

namespace tidemark {

// A stretch of the axis: [begin, end), never empty.
struct Window {
    Position begin = 0;
    Position end = 1;

    Position length() const { return end - begin; }

    friend bool operator==(const Window&, const Window&) = default;
};

struct Tick {
    Position position = 0;
    std::string label;
};

struct AxisTicks {
    std::vector<Tick> ticks;     // within the window, rising
    std::vector<Position> fine;  // unlabelled ones between them
    // If the window is so narrow that full times would be too long, labels are distances ("+20 ns")
    // from here; empty otherwise.
    std::string base;
};

// At most `most` labelled ticks (at least 1 is allowed) of a time axis.
AxisTicks time_ticks(AxisUnit unit, const Window& window, std::size_t most);

struct ByteTick {
    Bytes bytes = 0;
    std::string label;
};

// At most `most` + 1 ticks of a byte axis over [begin, end].
std::vector<ByteTick> byte_ticks(Bytes begin, Bytes end, std::size_t most);

// A position as text, as exact as `resolution` (in positions; 1 = exactly): "1.25 s", "2m 05.1s",
// "event 12,345".
std::string position_text(AxisUnit unit, Position position, Position resolution = 1);

// A length: "12.4 ms", "41,202 events".
std::string length_text(AxisUnit unit, Position length);

}  // namespace tidemark
