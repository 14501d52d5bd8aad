// AnnotationTracks: a run's named stretches laid out in tracks, so that none covers another: each
// is in the first track that is free when it starts. For nested stretches that is their depth.
//
// Grows with its history, a part at a time. Memory: 4 bytes a stretch. The screen's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "viz/model/timeline/merged_ranges.h"

namespace tidemark::viz {

class AnnotationTracks {
  public:
    static constexpr std::size_t kMostTracks = 64;  // what doesn't fit into this many is left out

    // Adds what is new in `history`, at most `most`; starts over with another history. True: there
    // is more to come. O(most * tracks open).
    bool follow(const std::shared_ptr<const History>& history, std::size_t most);

    std::size_t tracks() const { return tracks_.size(); }

    // What to draw of a track: see merge_ranges. MergedRange::first is an index in the track; an
    // open stretch ends where the run does. O(answer * log stretches).
    std::vector<MergedRange> ranges(std::size_t track, AxisUnit unit, const Window& window,
                                    Position shortest) const;

    // The stretch at an index of a track, as History::annotation counts them. O(1).
    std::size_t at(std::size_t track, std::size_t i) const { return tracks_[track][i]; }

  private:
    std::shared_ptr<const History> history_;
    std::size_t taken_ = 0;
    std::vector<std::vector<std::uint32_t>> tracks_;
};

}  // namespace tidemark::viz
