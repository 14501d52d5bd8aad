// Cuts the window into its parts.
#include "viz/shell/layout.h"

#include <algorithm>
#include <cmath>

namespace tidemark::viz {
namespace {

constexpr float kLinePad = 6;       // points above and below a line of text in bars
constexpr float kLayoutGap = 5;     // between parts: what can be dragged, no pane covers it
constexpr float kLiveLines = 2.6F;  // heights of a line: a large one and a small one
constexpr float kLeastMain = 220;
constexpr float kLeastTwo = 290;        // two views, one over the other
constexpr float kLeastTwoBeside = 380;  // that leave room for a table
constexpr float kLeastMainWidth = 360;
constexpr float kLeastSide = 220;
constexpr float kLeastTable = 90;
// The size of edges that were not pulled; in a small window a share of it, or what a view leaves.
constexpr float kUsualSide = 330;
constexpr float kUsualSideShare = 0.32F;
constexpr float kUsualTable = 250;
constexpr float kUsualMain = 280;

Box off_top(Box& rest, float height) {
    const float cut = std::min(rest.bottom, rest.top + std::round(height));
    const Box part{rest.left, rest.top, rest.right, cut};
    rest.top = cut;
    return part;
}

Box off_bottom(Box& rest, float height) {
    const float cut = std::max(rest.top, rest.bottom - std::round(height));
    const Box part{rest.left, cut, rest.right, rest.bottom};
    rest.bottom = cut;
    return part;
}

Box off_right(Box& rest, float width) {
    const float cut = std::max(rest.left, rest.right - std::round(width));
    const Box part{cut, rest.top, rest.right, rest.bottom};
    rest.right = cut;
    return part;
}

}  // namespace

Layout lay_out(float width, float height, float scale, float line_height, const Splits& splits) {
    Layout layout;
    const float bar = line_height + 2 * kLinePad * scale;
    const float gap = std::max(1.0F, std::round(kLayoutGap * scale));
    Box rest{0, 0, width, height};
    layout.header = off_top(rest, bar);
    layout.status = off_bottom(rest, bar - 2 * scale);
    layout.tabs = off_top(rest, bar);
    if (splits.has_live)
        layout.live = off_top(rest, kLiveLines * line_height + 2 * kLinePad * scale);
    if (splits.strip_height > 0 && rest.height() > 2 * splits.strip_height * scale) {
        layout.strip = off_top(rest, splits.strip_height * scale);
        off_top(rest, gap);
    }
    const float wanted_side = splits.side_width > 0
                                  ? splits.side_width * scale
                                  : std::min(kUsualSide * scale, kUsualSideShare * rest.width());
    const float side =
        std::clamp(wanted_side, kLeastSide * scale, std::max(kLeastSide * scale, rest.width() / 2));
    if (splits.has_side && rest.width() - side > kLeastMainWidth * scale) {
        layout.side = off_right(rest, side);
        layout.side_edge = off_right(rest, gap);
    }
    const float least = (splits.is_split ? kLeastTwoBeside : kLeastMain) * scale;
    const float most = rest.height() - least - bar - gap;
    if (splits.has_table && most > kLeastTable * scale) {
        const float wanted =
            splits.table_height > 0
                ? splits.table_height * scale
                : std::min(kUsualTable * scale, rest.height() - kUsualMain * scale - bar - gap);
        const float table = std::clamp(wanted, kLeastTable * scale, most);
        layout.table = off_bottom(rest, table);
        layout.table_tabs = off_bottom(rest, bar);
        layout.table_edge = off_bottom(rest, gap);
    }
    layout.first = rest;
    if (splits.is_split && rest.height() >= kLeastTwo * scale) {
        const float first = std::clamp(splits.first_share, 0.15F, 0.85F) * rest.height();
        layout.first = off_top(rest, first);
        layout.main_edge = off_top(rest, gap);
        layout.second = rest;
    }
    return layout;
}

}  // namespace tidemark::viz
