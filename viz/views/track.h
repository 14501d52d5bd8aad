// Track: rows under the curves of the timeline, over the same time: data of a run other than sums
// of bytes. A new one is a file here and a line in make_tracks (tracks.cpp).
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "viz/draw/time_area.h"
#include "viz/model/timeline/tier_tracks.h"
#include "viz/views/hover_card.h"

namespace tidemark::viz {

// The data that tracks are drawn from.
struct TrackInput {
    const ViewedRun& run;
    std::shared_ptr<const TierTracks> tiers;  // of a run over tiers, once they are ready
};

// A track's rows, from the top.
struct TrackRows {
    std::vector<float> heights;  // pixels
    std::size_t usual = 0;       // how many of them are worth shrinking the curves for
};

class Track {
  public:
    Track() = default;
    Track(const Track&) = delete;
    Track& operator=(const Track&) = delete;
    virtual ~Track() = default;

    // Takes in what is new, and returns the rows; none if there is nothing to show.
    virtual TrackRows prepare(Frame& frame, const TrackInput& input) = 0;

    // Draws a row into `box`, which is as high as the row and has the area's left and right; its
    // name goes into the margin at its left. `mouse`, if it is over the box: what is under it goes
    // to `card`.
    virtual void draw(Frame& frame, const TimeArea& area, const TrackInput& input, std::size_t row,
                      const Box& box, std::optional<ImVec2> mouse, HoverCard& card) = 0;

    // Something is being computed.
    virtual bool busy() const { return false; }
};

// All of them, from the top down.
std::vector<std::unique_ptr<Track>> make_tracks();

// A name in the margin at the left of a row, in the middle of its height.
void draw_track_name(Canvas& canvas, const Box& row, std::string_view name);

// The position of the axis as a time or number, to the pixel.
std::string position_label(const Frame& frame, const TimeArea& area, Position position);

// How many positions are `pixels` wide; at least 1.
Position positions_of(const Frame& frame, const TimeArea& area, float pixels);

std::unique_ptr<Track> annotation_track();
std::unique_ptr<Track> execution_track();
std::unique_ptr<Track> launch_track();
std::unique_ptr<Track> pool_track();
std::unique_ptr<Track> stream_track();
std::unique_ptr<Track> tier_track();
std::unique_ptr<Track> work_track();

}  // namespace tidemark::viz
