// When the device ran what the program launched, a track for each stream, if the recording has it.
// Executions too narrow to be seen alone are joined, as launches are.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/timeline/execution_tracks.h"
#include "viz/views/launch_bars.h"
#include "viz/views/track.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kExecutionsAFrame = 1U << 17U;  // taken in

class ExecutionTrack final : public Track {
  public:
    TrackRows prepare(Frame& frame, const TrackInput& input) override {
        more_ = false;
        if (!input.run.history)
            return {};
        more_ = tracks_.follow(input.run.history,
                               frame.still ? ~std::size_t{0} >> 1U : kExecutionsAFrame);
        return launch_bar_rows(frame, tracks_.tracks());
    }

    void draw(Frame& frame, const TimeArea& area, const TrackInput& input, std::size_t track,
              const Box& row, std::optional<ImVec2> mouse, HoverCard& card) override {
        const History& history = *input.run.history;
        Canvas& canvas = frame.canvas;
        draw_track_name(
            canvas, row,
            tracks_.tracks() == 1 ? "ran" : fmt::format("ran {}", tracks_.stream(track)));
        const auto ranges = tracks_.ranges(track, frame.camera.unit(), frame.camera.window(),
                                           positions_of(frame, area, canvas.px(kLaunchBarsJoined)));
        const auto name = [&](std::size_t i) {
            const Execution one = history.execution(tracks_.at(track, i));
            return NamedBar{one.tag, launch_name(history, one.tag)};
        };
        const std::optional<MergedRange> hit = draw_bars(canvas, area, row, ranges, mouse, name);
        if (!hit)
            return;
        describe(frame, area, history, track, *hit, card);
        const std::uint32_t launch = history.execution(tracks_.at(track, hit->first)).launch;
        if (area.clicked() && hit->count == 1 && launch < history.counts().launches)
            frame.selection.used = history.uses(launch).blocks;
    }

    bool busy() const override { return more_; }

  private:
    void describe(const Frame& frame, const TimeArea& area, const History& history,
                  std::size_t track, const MergedRange& range, HoverCard& card) const {
        const Execution execution = history.execution(tracks_.at(track, range.first));
        const std::uint32_t stream = tracks_.stream(track);
        card.head(range.count == 1 ? std::string(launch_name(history, execution.tag))
                                   : fmt::format("{} executions, too narrow to be shown one by one",
                                                 format_count(range.count)));
        card.row(0, "stream", fmt::format("{} (handle {:#x})", stream, history.streams()[stream]));
        card.row(0, "started", position_label(frame, area, range.begin));
        if (range.count > 1) {
            card.row(0, "first", std::string(launch_name(history, execution.tag)));
            card.note("bars grow with the root of the count");
            return;
        }
        card.row(0, "took", format_duration(execution.length));
        if (execution.launch < history.counts().launches)
            card.row(0, "launched",
                     fmt::format(
                         "{} before",
                         format_duration(std::max<Nanoseconds>(
                             execution.begin - history.time(history.launch(execution.launch).begin),
                             0))));
    }

    ExecutionTracks tracks_;
    bool more_ = false;
};

}  // namespace

std::unique_ptr<Track> execution_track() {
    return std::make_unique<ExecutionTrack>();
}

}  // namespace tidemark::viz
