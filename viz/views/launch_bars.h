// Bars for launches and executions: a row of them, joined where they are too narrow to be seen
// alone, with a height that grows with their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "viz/draw/time_area.h"
#include "viz/model/timeline/merged_ranges.h"
#include "viz/views/track.h"
#include "viz/views/view.h"

namespace tidemark::viz {

constexpr float kLaunchBarsJoined = 6;  // points: what is narrower is joined

struct NamedBar {
    std::uint32_t tag = 0;  // has one color
    std::string_view name;
};

// Height for that many rows.
TrackRows launch_bar_rows(const Frame& frame, std::size_t rows);

// The text of a tag of History::strings() on a bar.
std::string_view launch_name(const History& history, std::uint32_t tag);

// Draws `ranges` into `row`; `bar` says what the i-th of the track is. Returns the one under
// `mouse`.
std::optional<MergedRange> draw_bars(Canvas& canvas, const TimeArea& area, const Box& row,
                                     std::span<const MergedRange> ranges,
                                     std::optional<ImVec2> mouse,
                                     const std::function<NamedBar(std::size_t)>& bar);

}  // namespace tidemark::viz
