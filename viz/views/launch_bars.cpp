// Draws rectangles and names.
#include "viz/views/launch_bars.h"

#include <algorithm>
#include <cmath>

namespace tidemark::viz {
namespace {

constexpr std::size_t kUsualRows = 4;
constexpr float kHeight = 18;  // points, of a row

void draw_one(Canvas& canvas, const NamedBar& what, const Box& bar) {
    const Theme& theme = canvas.theme();
    canvas.fill(bar, mix(theme.plot, category(theme, what.tag), 0.45));
    const float pad = canvas.px(4);
    if (bar.width() >= 3 * pad)
        canvas.text_within({bar.left + pad, bar.top, bar.right - pad / 2, bar.bottom}, what.name,
                           theme.text);
}

void draw_joined(Canvas& canvas, std::size_t count, std::size_t most, Box bar) {
    const Theme& theme = canvas.theme();
    const double share = std::sqrt(static_cast<double>(count) / static_cast<double>(most));
    bar.top = bar.bottom - std::max(2.0F, std::round(bar.height() * static_cast<float>(share)));
    canvas.fill(bar, mix(theme.plot, theme.accent, 0.45));
}

}  // namespace

TrackRows launch_bar_rows(const Frame& frame, std::size_t rows) {
    return {std::vector<float>(rows, std::round(frame.canvas.px(kHeight))), kUsualRows};
}

std::string_view launch_name(const History& history, std::uint32_t tag) {
    const std::string_view name = history.strings()[tag];
    return name.empty() ? "launch" : name;
}

std::optional<MergedRange> draw_bars(Canvas& canvas, const TimeArea& area, const Box& row,
                                     std::span<const MergedRange> ranges,
                                     std::optional<ImVec2> mouse,
                                     const std::function<NamedBar(std::size_t)>& bar) {
    std::optional<MergedRange> hit;
    std::size_t most = 1;
    for (const MergedRange& range : ranges)
        most = std::max(most, range.count);
    canvas.clip(row);
    for (const MergedRange& range : ranges) {
        const float left = std::floor(area.to_x(range.begin));
        const float right = std::max(std::floor(area.to_x(range.end)), left + 1);
        // A pixel of ground between neighbours keeps them apart.
        const float gap = right - left > 3 ? 1 : 0;
        const Box box{std::max(left, row.left), row.top + 1, std::min(right - gap, row.right),
                      row.bottom - 1};
        if (range.count == 1)
            draw_one(canvas, bar(range.first), box);
        else
            draw_joined(canvas, range.count, most, box);
        if (mouse && mouse->x >= left && mouse->x < right)
            hit = range;
    }
    canvas.unclip();
    return hit;
}

}  // namespace tidemark::viz
