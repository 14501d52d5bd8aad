// TrackStack: the tracks under the timeline as one list of rows: as many as there is room for, and
// how many more there are, with the way to them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viz/views/track.h"

namespace tidemark::viz {

class TrackStack {
  public:
    explicit TrackStack(std::vector<std::unique_ptr<Track>> tracks) : tracks_(std::move(tracks)) {}

    // Takes in what is new, and returns how many pixels of `room` the rows need.
    float prepare(Frame& frame, const TrackInput& input, float room);

    // Draws the rows that fit into `box`, from the one that was scrolled to. The number of rows
    // that are left out is in the margin at the left of its bottom: a click there shows the next
    // ones, and the wheel over the margin scrolls by one.
    void draw(Frame& frame, const TrackInput& input, const TimeArea& area, const Box& box,
              std::optional<ImVec2> mouse, HoverCard& card);

    bool busy() const;

  private:
    struct Row {
        std::size_t track = 0;
        std::size_t index = 0;  // in the track
        float height = 0;
        float gap = 0;  // above it
    };

    // The first row behind those that fit into `height` from `first` on.
    std::size_t end_of(std::size_t first, float height) const;
    void scroll_by_wheel(const Box& margin);
    void draw_more(Frame& frame, const Box& foot, std::size_t end);

    std::vector<std::unique_ptr<Track>> tracks_;
    std::vector<Row> rows_;
    std::size_t first_ = 0;       // row that is drawn at the top
    std::size_t last_first_ = 0;  // from which on all rows to the end fit
};

// "+5 more": how many rows are not visible.
std::string more_rows_text(std::size_t hidden);

}  // namespace tidemark::viz
