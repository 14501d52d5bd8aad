// Rows from the top, then the count of the rest.
#include "viz/views/track_stack.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/tip.h"

namespace tidemark::viz {
namespace {

constexpr float kTrackStackGap = 6;         // points between tracks
constexpr float kTrackStackLeastPlot = 90;  // points of height that tracks leave to the curves
constexpr float kTracksShare = 0.62F;       // of the room, at most
constexpr float kMargin = 70;               // points at the left, for names

float foot_height(const Canvas& canvas) {
    return std::ceil(canvas.line_height() + canvas.px(2));
}

}  // namespace

float TrackStack::prepare(Frame& frame, const TrackInput& input, float room) {
    const float gap = std::round(frame.canvas.px(kTrackStackGap));
    float wanted = 0;
    rows_.clear();
    for (std::size_t track = 0; track < tracks_.size(); ++track) {
        const TrackRows rows = tracks_[track]->prepare(frame, input);
        for (std::size_t i = 0; i < rows.heights.size(); ++i) {
            rows_.push_back({track, i, std::round(rows.heights[i]), i == 0 ? gap : 0});
            if (i < rows.usual)
                wanted += rows_.back().height + rows_.back().gap;
        }
    }
    first_ = std::min(first_, rows_.empty() ? 0 : rows_.size() - 1);
    if (rows_.empty())
        return 0;
    const float most = std::min(room - frame.canvas.px(kTrackStackLeastPlot), room * kTracksShare);
    // A row and what leads to the others, where that leaves as much to the curves.
    const float row = rows_.front().gap + rows_.front().height;
    const float foot = foot_height(frame.canvas);
    const float least = room / 2 >= row + foot ? row + foot : std::min(foot, room / 3);
    return std::floor(std::max(std::min(wanted, most), std::min(wanted, least)));
}

bool TrackStack::busy() const {
    return std::any_of(tracks_.begin(), tracks_.end(),
                       [](const auto& track) { return track->busy(); });
}

std::size_t TrackStack::end_of(std::size_t first, float height) const {
    std::size_t end = first;
    for (; end < rows_.size(); ++end) {
        height -= rows_[end].height + rows_[end].gap;
        if (height < -0.5F)
            break;
    }
    return end;
}

void TrackStack::draw(Frame& frame, const TrackInput& input, const TimeArea& area, const Box& box,
                      std::optional<ImVec2> mouse, HoverCard& card) {
    Canvas& canvas = frame.canvas;
    canvas.horizontal(box.top, box.left, box.right, canvas.theme().border);
    if (rows_.empty())
        return;
    Box inner = box;
    if (end_of(0, box.height()) < rows_.size()) {
        inner.bottom -= foot_height(canvas);
        last_first_ = rows_.size() - 1;
        while (last_first_ > 0 && end_of(last_first_ - 1, inner.height()) == rows_.size())
            --last_first_;
        if (!frame.still)
            scroll_by_wheel({box.left - canvas.px(kMargin), box.top, box.left, box.bottom});
        first_ = std::min(first_, last_first_);
    } else {
        first_ = 0;
    }
    const std::size_t end = end_of(first_, inner.height());
    float top = inner.top;
    for (std::size_t i = first_; i < end; ++i) {
        const Row& row = rows_[i];
        top += row.gap;
        const Box line{inner.left, top, inner.right, top + row.height};
        const bool over = mouse && line.contains(*mouse);
        tracks_[row.track]->draw(frame, area, input, row.index, line, over ? mouse : std::nullopt,
                                 card);
        top = line.bottom;
    }
    if (inner.bottom < box.bottom)
        draw_more(frame, {box.left, inner.bottom, box.right, box.bottom}, end);
}

void TrackStack::scroll_by_wheel(const Box& margin) {
    ImGuiIO& io = ImGui::GetIO();
    if (io.MouseWheel == 0 || !margin.contains(io.MousePos) || !ImGui::IsWindowHovered())
        return;
    if (io.MouseWheel < 0)
        first_ = std::min(first_ + 1, last_first_);
    else
        first_ -= std::min<std::size_t>(first_, 1);
    io.MouseWheel = 0;
}

void TrackStack::draw_more(Frame& frame, const Box& foot, std::size_t end) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const Box margin{foot.left - canvas.px(kMargin), foot.top,
                     foot.left - canvas.px(kTrackStackGap), foot.bottom};
    const std::size_t hidden = rows_.size() - (end - first_);
    canvas.text_within(margin, more_rows_text(hidden), theme.accent, Align::right);
    const Press press = frame.press(margin, "more tracks");
    if (press.clicked)  // by pages; after the last one comes the first
        first_ = end < rows_.size() ? std::max(end, first_ + 1) : 0;
    if (press.hovered) {
        canvas.horizontal(margin.bottom - 1, margin.left, margin.right, theme.accent);
        if (end == first_)
            draw_tip(canvas, "No room for the lanes: show one view (E), or enlarge the window.");
        else
            draw_tip(canvas, fmt::format("{} rows above, {} below", first_, rows_.size() - end),
                     "A click shows the next ones; the wheel scrolls by one.");
    }
}

std::string more_rows_text(std::size_t hidden) {
    return fmt::format("+{} more", hidden);
}

}  // namespace tidemark::viz
