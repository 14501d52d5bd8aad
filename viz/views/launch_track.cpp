// What the program launched on the streams: kernels, copies and fills, a track for each stream.
// Launches too narrow to be seen alone are joined: the more, the higher.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/model/timeline/launch_tracks.h"
#include "viz/views/launch_bars.h"
#include "viz/views/track.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kLaunchesAFrame = 1U << 17U;  // taken in

class LaunchTrack final : public Track {
  public:
    TrackRows prepare(Frame& frame, const TrackInput& input) override {
        more_ = false;
        if (!input.run.history)
            return {};
        more_ = tracks_.follow(input.run.history,
                               frame.still ? ~std::size_t{0} >> 1U : kLaunchesAFrame);
        return launch_bar_rows(frame, tracks_.tracks());
    }

    void draw(Frame& frame, const TimeArea& area, const TrackInput& input, std::size_t track,
              const Box& row, std::optional<ImVec2> mouse, HoverCard& card) override {
        const History& history = *input.run.history;
        Canvas& canvas = frame.canvas;
        draw_track_name(
            canvas, row,
            tracks_.tracks() == 1 ? "launches" : fmt::format("launch {}", tracks_.stream(track)));
        const auto ranges = tracks_.ranges(track, frame.camera.unit(), frame.camera.window(),
                                           positions_of(frame, area, canvas.px(kLaunchBarsJoined)));
        const auto bar = [&](std::size_t i) {
            const Launch launch = history.launch(tracks_.at(track, i));
            return NamedBar{launch.tag, launch_name(history, launch.tag)};
        };
        const std::optional<MergedRange> hit = draw_bars(canvas, area, row, ranges, mouse, bar);
        if (!hit)
            return;
        describe(frame, area, history, track, *hit, card);
        if (area.clicked() && hit->count == 1)
            frame.selection.used = history.uses(tracks_.at(track, hit->first)).blocks;
    }

    bool busy() const override { return more_; }

  private:
    void describe(const Frame& frame, const TimeArea& area, const History& history,
                  std::size_t track, const MergedRange& range, HoverCard& card) const {
        const std::size_t index = tracks_.at(track, range.first);
        const Launch launch = history.launch(index);
        const std::uint32_t stream = tracks_.stream(track);
        card.head(range.count == 1 ? std::string(launch_name(history, launch.tag))
                                   : fmt::format("{} launches, too narrow to be shown one by one",
                                                 format_count(range.count)));
        card.row(0, "stream", fmt::format("{} (handle {:#x})", stream, history.streams()[stream]));
        if (range.count > 1) {
            card.row(0, "first", std::string(launch_name(history, launch.tag)));
            const std::size_t last = tracks_.at(track, range.first + range.count - 1);
            card.row(0, "last", std::string(launch_name(history, history.launch(last).tag)));
        }
        card.row(0, "launched", position_label(frame, area, range.begin));
        card.row(0, range.count == 1 ? "until its stream's next event" : "length",
                 length_text(frame.camera.unit(), range.end - range.begin));
        if (range.count == 1)
            describe_uses(history.uses(index), card);
        else
            card.note("bars grow with the root of the count");
    }

    static void describe_uses(const LaunchUses& uses, HoverCard& card) {
        card.row(0, "uses",
                 uses.blocks.empty() && uses.unknown
                     ? "unknown"
                     : fmt::format("{}, {}", format_counted(uses.blocks.size(), "block"),
                                   format_bytes(uses.size)));
        if (uses.possible > 0)
            card.row(0, "of these, possibly", format_counted(uses.possible, "block"));
        if (uses.unknown)
            card.note("may have used any block");
    }

    LaunchTracks tracks_;
    bool more_ = false;
};

}  // namespace

std::unique_ptr<Track> launch_track() {
    return std::make_unique<LaunchTrack>();
}

}  // namespace tidemark::viz
