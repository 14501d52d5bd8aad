// ExecutionTracks: when the device ran what was launched, a track for each stream, in order of
// start. Executions of a graph's launch may overlap: there each ends where the next one starts.
//
// Grows with its history, a part at a time. Memory: 4 bytes an execution. The screen's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "viz/model/timeline/merged_ranges.h"
#include "viz/model/timeline/stream_tracks.h"

namespace tidemark::viz {

class ExecutionTracks {
  public:
    // As AnnotationTracks::follow.
    bool follow(const std::shared_ptr<const History>& history, std::size_t most);

    // In the order in which something ran on them.
    std::size_t tracks() const { return tracks_.count(); }

    // What to draw of a track: see merge_ranges. MergedRange::first is an index in the track. On an
    // axis of events an execution is at the events that were recorded while it ran. O(answer * log
    // executions), there times log events.
    std::vector<MergedRange> ranges(std::size_t track, AxisUnit unit, const Window& window,
                                    Position shortest) const;

    // The execution at an index of a track, as History::execution counts them. O(1).
    std::size_t at(std::size_t track, std::size_t i) const { return tracks_.members(track)[i]; }

    // StreamId.
    std::uint32_t stream(std::size_t track) const { return tracks_.stream(track); }

  private:
    std::shared_ptr<const History> history_;
    std::size_t taken_ = 0;
    StreamTracks tracks_;
};

}  // namespace tidemark::viz
