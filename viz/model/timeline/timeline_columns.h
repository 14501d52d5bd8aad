// TimelineColumns: what the timeline draws of a run, one pixel column after the other: requested
// from the history once for each position of the camera, and kept until that changes. And how the
// sums of a column become layers.
//
// Pure but for what is kept; the screen's thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "replay/timeline/column_edge.h"
#include "replay/timeline/fragmentation_curve.h"
#include "viz/model/session/camera.h"

namespace tidemark::viz {

// What one column is filled with, from the bottom up. Each height is at least the one before.
struct ColumnLayers {
    Bytes requested = 0;  // up to here: allocated without what rounding adds
    Bytes allocated = 0;  // up to here: what it adds
    Bytes swing = 0;      // up to here: allocated at one moment of the column, not at all of them
    Bytes waiting = 0;    // up to here: pending free
    Bytes fragmentation = 0;  // up to here: free, but pinned by blocks: unreleasable
    Bytes cached = 0;    // up to here: reserved and holding nothing; the line of reserved starts
    Bytes reserved = 0;  // where that line ends

    friend bool operator==(const ColumnLayers&, const ColumnLayers&) = default;
};

// A column that holds one event or two is shown as its largest values, so that steps are as sharp
// as pixels are; one that holds more is shown with the range in it.
constexpr EventIndex kSharpEvents = 2;

// What is reserved and not active, after an event.
struct IdleMemory {
    Bytes cached = 0;                    // in whole segments and pages that hold nothing
    std::optional<Bytes> fragmentation;  // the rest; none: not known yet, it counts as cached
};

// `curve`: null if there is none. O(64).
IdleMemory idle_of(const SeriesValues& values, const FragmentationCurve* curve, EventIndex event);

// What rounding adds to the memory in use. None while something is pending free: `requested` counts
// that as well, and the curves don't show how much of the difference belongs to which.
std::optional<Bytes> rounding_of(const SeriesValues& values);

// `held`: the most unreleasable memory within the column (FragmentationCurve), 0 where that isn't
// known. O(1).
ColumnLayers layers_of(const SeriesColumn& column, Bytes held = 0);

// The largest value of `series` in any of `columns`; 0 for none. O(columns).
Bytes highest(std::span<const SeriesColumn> columns, Series series);

class TimelineColumns {
  public:
    // The columns of `window`; valid until the next call. Queries the history only if something has
    // changed since: another window, width, unit or run, or more events. Cost: that of
    // History::series, or O(1).
    std::span<const SeriesColumn> look(const std::shared_ptr<const History>& history, AxisUnit unit,
                                       const Window& window, std::size_t columns);

    // How many requests to the history there were: for tests of the promise above.
    std::size_t requests() const { return requests_; }

  private:
    std::vector<SeriesColumn> columns_;
    std::shared_ptr<const History> history_;
    std::size_t events_ = 0;
    Window window_;
    AxisUnit unit_ = AxisUnit::time;
    std::size_t requests_ = 0;
};

}  // namespace tidemark::viz
