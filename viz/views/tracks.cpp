// The tracks under the timeline, and what they have in common.
#include <algorithm>
#include <cmath>

#include "replay/report/forms/axis_ticks.h"
#include "viz/views/track.h"

namespace tidemark::viz {

std::vector<std::unique_ptr<Track>> make_tracks() {
    std::vector<std::unique_ptr<Track>> tracks;
    tracks.push_back(annotation_track());
    tracks.push_back(launch_track());
    tracks.push_back(execution_track());
    tracks.push_back(tier_track());
    tracks.push_back(work_track());
    tracks.push_back(stream_track());
    return tracks;
}

void draw_track_name(Canvas& canvas, const Box& row, std::string_view name) {
    const float gap = canvas.px(8);
    const Box margin{row.left - canvas.px(70), row.top, row.left - gap, row.bottom};
    canvas.text_within(margin, name, canvas.theme().faint_text, Align::right);
}

std::string position_label(const Frame& frame, const TimeArea& area, Position position) {
    return position_text(frame.camera.unit(), position, positions_of(frame, area, 1));
}

Position positions_of(const Frame& frame, const TimeArea& area, float pixels) {
    const double each =
        static_cast<double>(frame.camera.window().length()) / static_cast<double>(area.columns());
    return std::max<Position>(static_cast<Position>(each * static_cast<double>(pixels)), 1);
}

}  // namespace tidemark::viz
