// Named stretches of the program: steps, modules, operators. Rows by nesting; stretches too narrow
// to be seen alone are joined, with their count.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/model/timeline/annotation_tracks.h"
#include "viz/views/track.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kAnnotationTrackUsualRows = 5;
constexpr std::size_t kAFrame = 1U << 16U;       // stretches taken in a frame
constexpr float kAnnotationTrackRowHeight = 18;  // points
constexpr float kJoined = 6;                     // points: what is narrower is joined

class AnnotationTrack final : public Track {
  public:
    TrackRows prepare(Frame& frame, const TrackInput& input) override {
        if (!input.run.history)
            return {};
        more_ = tracks_.follow(input.run.history, frame.still ? ~std::size_t{0} >> 1U : kAFrame);
        return {std::vector<float>(tracks_.tracks(),
                                   std::round(frame.canvas.px(kAnnotationTrackRowHeight))),
                kAnnotationTrackUsualRows};
    }

    void draw(Frame& frame, const TimeArea& area, const TrackInput& input, std::size_t track,
              const Box& row, std::optional<ImVec2> mouse, HoverCard& card) override {
        const History& history = *input.run.history;
        Canvas& canvas = frame.canvas;
        draw_track_name(canvas, row,
                        track == 0 ? std::string("ranges") : fmt::format("level {}", track + 1));
        const auto ranges = tracks_.ranges(track, frame.camera.unit(), frame.camera.window(),
                                           positions_of(frame, area, canvas.px(kJoined)));
        canvas.clip(row);
        for (const MergedRange& range : ranges) {
            const float left = std::floor(area.to_x(range.begin));
            const float right = std::max(std::floor(area.to_x(range.end)), left + 1);
            // A pixel of ground between neighbours keeps them apart.
            const float gap = right - left > 3 ? 1 : 0;
            const Box bar{std::max(left, row.left), row.top + 1, std::min(right - gap, row.right),
                          row.bottom - 1};
            draw_range(canvas, history, track, range, bar);
            if (mouse && mouse->x >= left && mouse->x < right)
                describe(frame, area, history, track, range, card);
        }
        canvas.unclip();
    }

    bool busy() const override { return more_; }

  private:
    std::string_view name_of(const History& history, std::size_t track, std::size_t index) const {
        return history.strings()[history.annotation(tracks_.at(track, index)).name];
    }

    void draw_range(Canvas& canvas, const History& history, std::size_t track,
                    const MergedRange& range, const Box& bar) {
        const Theme& theme = canvas.theme();
        const bool one = range.count == 1;
        const std::string_view name = name_of(history, track, range.first);
        const std::size_t number = history.annotation(tracks_.at(track, range.first)).name;
        const Colour hue = one ? category(theme, number) : theme.faint_text;
        canvas.fill(bar, mix(theme.plot, hue, one ? 0.45 : 0.30));
        const float pad = canvas.px(4);
        if (bar.width() < 3 * pad)
            return;
        const std::string text =
            one ? std::string(name) : fmt::format("{} ranges", format_count(range.count));
        canvas.text_within({bar.left + pad, bar.top, bar.right - pad / 2, bar.bottom}, text,
                           theme.text);
    }

    void describe(const Frame& frame, const TimeArea& area, const History& history,
                  std::size_t track, const MergedRange& range, HoverCard& card) const {
        const AxisUnit unit = frame.camera.unit();
        if (range.count == 1) {
            const Annotation annotation = history.annotation(tracks_.at(track, range.first));
            card.head(std::string(name_of(history, track, range.first)));
            card.row(0, "events",
                     annotation.end == kNever
                         ? fmt::format("from {}, still open", format_count(annotation.begin))
                         : fmt::format("{} to {}", format_count(annotation.begin),
                                       format_count(annotation.end)));
        } else {
            card.head(fmt::format("{} ranges, too narrow to be shown one by one",
                                  format_count(range.count)));
            card.row(0, "first", std::string(name_of(history, track, range.first)));
            card.row(0, "last",
                     std::string(name_of(history, track, range.first + range.count - 1)));
        }
        card.row(0, "from", position_label(frame, area, range.begin));
        card.row(0, "length", length_text(unit, range.end - range.begin));
    }

    AnnotationTracks tracks_;
    bool more_ = false;
};

}  // namespace

std::unique_ptr<Track> annotation_track() {
    return std::make_unique<AnnotationTrack>();
}

}  // namespace tidemark::viz
