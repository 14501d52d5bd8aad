// The track of a rank: its small curves, with the median's reserved memory as a line over them, and
// marks where it was out of memory and where it diverges from the others.
#pragma once

#include <map>
#include <optional>

#include "viz/draw/time_area.h"
#include "viz/model/ranks/rank_table.h"
#include "viz/model/timeline/timeline_columns.h"
#include "viz/views/timeline_plot.h"

namespace tidemark::viz {

struct RankTrack {
    const RankFigures& rank;
    std::size_t median = 0;                   // the run with the median's peak
    std::optional<EventIndex> leaves = {};    // the others' requests, at this event
    std::optional<Nanoseconds> differs = {};  // from the median in reserved memory, from then on
};

// What tracks know about their histories, by run.
using TrackColumns = std::map<std::size_t, TimelineColumns>;

// Draws it into the scale's box.
void draw_rank_track(Frame& frame, const TimeArea& area, const ByteScale& scale,
                     const RankTrack& track, TrackColumns& known);

// The legend of bars and tracks, in a line; returns its height.
float draw_rank_legend(Canvas& canvas, const Box& box);

}  // namespace tidemark::viz
