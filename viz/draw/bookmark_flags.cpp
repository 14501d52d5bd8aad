// From the right to the left: a name has the room up to the next flag.
#include "viz/draw/bookmark_flags.h"

#include <algorithm>
#include <cmath>

#include "viz/model/blocks/site_names.h"

namespace tidemark::viz {
namespace {

constexpr float kFlag = 7;        // points
constexpr float kFlagName = 260;  // points that a name takes at most
constexpr std::size_t kFlagLetters = 60;
constexpr float kHighLines = 4;

}  // namespace

void draw_bookmark_flags(Canvas& canvas, const Box& box,
                         const std::vector<PlacedBookmark>& bookmarks,
                         const std::function<float(Position)>& to_x) {
    const Theme& theme = canvas.theme();
    const float size = canvas.px(kFlag);
    const float line = canvas.line_height();
    const bool has_names = box.height() >= line;
    // What is measured and the peak are told along the top of what is high enough.
    const float name_top =
        box.top + (box.height() >= kHighLines * line ? std::ceil(1.4F * line) : 0);
    float free_until = box.right;
    for (auto bookmark = bookmarks.rbegin(); bookmark != bookmarks.rend(); ++bookmark) {
        const float x = std::floor(to_x(bookmark->begin));
        const float end = bookmark->end > bookmark->begin ? std::floor(to_x(bookmark->end)) : x;
        if (end < box.left || x >= box.right)
            continue;
        if (end > x)
            canvas.fill({std::max(x, box.left), box.top, std::min(end + 1, box.right),
                         box.top + std::round(canvas.px(2))},
                        theme.accent);
        if (x < box.left)
            continue;
        canvas.vertical(x, box.top, box.bottom, mix(theme.plot, theme.accent, 0.6));
        if (free_until - x < canvas.px(2))
            continue;
        canvas.triangle({x, box.top}, {x + size, box.top + size / 2}, {x, box.top + size},
                        theme.accent);
        const float left = x + size + canvas.px(3);
        const float room = std::min(free_until - left - canvas.px(4), canvas.px(kFlagName));
        const std::string name = one_line(bookmark->name, kFlagLetters);
        if (has_names && canvas.text_width(name) <= room)
            canvas.label({left, name_top}, name, theme.text);
        free_until = x;
    }
}

}  // namespace tidemark::viz
