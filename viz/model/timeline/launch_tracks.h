// LaunchTracks: what was launched, a track for each stream; launches of a stream don't overlap.
//
// Grows with its history, a part at a time. Memory: 4 bytes a launch. The screen's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "viz/model/timeline/merged_ranges.h"
#include "viz/model/timeline/stream_tracks.h"

namespace tidemark::viz {

class LaunchTracks {
  public:
    // As AnnotationTracks::follow.
    bool follow(const std::shared_ptr<const History>& history, std::size_t most);

    // In the order in which streams were first given something.
    std::size_t tracks() const { return tracks_.count(); }

    // What to draw of a track: see merge_ranges. MergedRange::first is an index in the track.
    // O(answer * log launches).
    std::vector<MergedRange> ranges(std::size_t track, AxisUnit unit, const Window& window,
                                    Position shortest) const;

    // The launch at an index of a track, as History::launch counts them. O(1).
    std::size_t at(std::size_t track, std::size_t i) const { return tracks_.members(track)[i]; }

    // StreamId.
    std::uint32_t stream(std::size_t track) const { return tracks_.stream(track); }

  private:
    std::shared_ptr<const History> history_;
    std::size_t taken_ = 0;
    StreamTracks tracks_;
};

}  // namespace tidemark::viz
