// What streams and links do in a replay over tiers, and what streams wait for: per pixel, the share
// of its time in which something was busy. At close zoom, each kernel is a box.
#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/model/timeline/timeline_columns.h"
#include "viz/views/timeline_plot.h"
#include "viz/views/track.h"

namespace tidemark::viz {
namespace {

constexpr float kWorkTrackRowHeight = 18;  // points
constexpr std::size_t kStreamRows = 4;     // further streams share a row

enum class Work : std::uint8_t { stall, kernel, link };

// One row: several tracks together; its height is their average share.
struct WorkRow {
    std::string name;
    std::string title;  // on the card
    Work work = Work::kernel;
    StallCause cause = StallCause::fetch;
    std::vector<const BusyTime*> tracks;
    std::size_t of = 1;  // tracks that could be busy at once

    Nanoseconds total() const {
        Nanoseconds sum = 0;
        for (const BusyTime* track : tracks)
            sum += track->total();
        return sum;
    }
};

Colour row_colour(const Theme& theme, const WorkRow& row) {
    if (row.work == Work::kernel)
        return theme.accent;
    if (row.work == Work::link)
        return theme.faint_text;
    switch (row.cause) {
        case StallCause::fetch:
            return theme.problem;
        case StallCause::room:
            return theme.warning;
        case StallCause::reservation:
            return theme.disk;
    }
    return theme.text;
}

// Short enough for the margin.
std::string_view name_of(StallCause cause) {
    switch (cause) {
        case StallCause::fetch:
            return "fetching";
        case StallCause::room:
            return "no room";
        case StallCause::reservation:
            return "reserving";
    }
    return "";
}

std::string_view name_of(const TierLinkUse& link) {
    if (link.source.tier == link.target.tier)
        return "sideways";
    if (link.target.tier == Tier::gpu)
        return "copy in";
    if (link.source.tier == Tier::gpu)
        return "copy out";
    return link.target.tier == Tier::disk ? "to disk" : "from disk";
}

std::string_view title_of(StallCause cause) {
    switch (cause) {
        case StallCause::fetch:
            return "streams wait for a buffer to be fetched";
        case StallCause::room:
            return "streams wait for others to make room";
        case StallCause::reservation:
            return "streams wait for a reservation";
    }
    return "";
}

class WorkTrack final : public Track {
  public:
    TrackRows prepare(Frame& frame, const TrackInput& input) override {
        if (tracks_ != input.tiers) {
            tracks_ = input.tiers;
            rows_.clear();
            if (tracks_ && input.run.tiers)
                make_rows(*input.run.tiers);
        }
        return {std::vector<float>(rows_.size(), std::round(frame.canvas.px(kWorkTrackRowHeight))),
                rows_.size()};
    }

    void draw(Frame& frame, const TimeArea& area, const TrackInput& /*input*/, std::size_t index,
              const Box& box, std::optional<ImVec2> mouse, HoverCard& card) override {
        const WorkRow& row = rows_[index];
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        draw_track_name(canvas, box, row.name);
        const Window& window = frame.camera.window();
        busy_.assign(area.columns(), 0);
        for (const BusyTime* track : row.tracks)
            track->add_columns(window.begin, window.end, busy_);
        const float high = box.height() - 3;
        const float floor = box.bottom - 1;
        canvas.horizontal(floor, box.left, box.right, theme.grid);
        const Colour colour = mix(theme.plot, row_colour(theme, row), 0.8);
        BandPainter painter(canvas, box.left);
        for (std::size_t i = 0; i < busy_.size(); ++i)
            painter.column(i, floor - tallness(row, window, i, high), floor, colour);
        if (mouse)
            describe(frame, area, row, mouse->x, card);
    }

  private:
    void make_rows(const TierRun& run) {
        std::size_t streams = tracks_->kernels().size();
        for (const StallCause cause :
             {StallCause::fetch, StallCause::room, StallCause::reservation})
            streams = std::max(streams, tracks_->stalls(cause).size());
        for (const StallCause cause :
             {StallCause::fetch, StallCause::room, StallCause::reservation}) {
            WorkRow row{std::string(name_of(cause)),
                        std::string(title_of(cause)),
                        Work::stall,
                        cause,
                        {},
                        streams};
            for (const BusyTime& track : tracks_->stalls(cause))
                row.tracks.push_back(&track);
            add(std::move(row));
        }
        add_kernels();
        for (std::size_t link = 0; link < tracks_->links().size(); ++link)
            add({std::string(name_of(run.links[link])),
                 fmt::format("link {} to {}", to_text(run.links[link].source),
                             to_text(run.links[link].target)),
                 Work::link,
                 StallCause::fetch,
                 {&tracks_->links()[link]},
                 1});
    }

    void add_kernels() {
        const std::vector<BusyTime>& kernels = tracks_->kernels();
        WorkRow rest{"others", "kernels of the other streams", Work::kernel, {}, {}, 0};
        for (std::size_t stream = 0; stream < kernels.size(); ++stream) {
            if (kernels[stream].size() == 0)
                continue;
            if (stream >= kStreamRows) {
                rest.tracks.push_back(&kernels[stream]);
                ++rest.of;
                continue;
            }
            add({kernels.size() == 1 ? std::string("kernels") : fmt::format("kernels {}", stream),
                 fmt::format("kernels of stream {}", stream),
                 Work::kernel,
                 {},
                 {&kernels[stream]},
                 1});
        }
        add(std::move(rest));
    }

    // Rows in which nothing ever happens are left out.
    void add(WorkRow row) {
        if (row.total() > 0)
            rows_.push_back(std::move(row));
    }

    // The height of busy time in a column; at least a pixel if there was any.
    float tallness(const WorkRow& row, const Window& window, std::size_t column, float high) const {
        if (busy_[column] == 0)
            return 0;
        const double whole = static_cast<double>(window.length()) /
                             static_cast<double>(busy_.size()) *
                             static_cast<double>(std::max<std::size_t>(row.of, 1));
        const double share = static_cast<double>(busy_[column]) / whole;
        return std::clamp(std::round(high * static_cast<float>(share)), 1.0F, high);
    }

    void describe(const Frame& frame, const TimeArea& area, const WorkRow& row, float x,
                  HoverCard& card) const {
        const Position position = area.to_position(x);
        const Window& window = frame.camera.window();
        card.head(fmt::format("{}, at {}", row.title, position_label(frame, area, position)));
        for (const BusyTime* track : row.tracks) {
            const std::size_t begun = track->begun_before(position + 1);
            if (begun > 0 && track->end(begun - 1) > position)
                card.row(
                    row_colour(frame.canvas.theme(), row), "busy here, for",
                    length_text(AxisUnit::time, track->end(begun - 1) - track->begin(begun - 1)));
            if (row.tracks.size() > 4)
                break;
        }
        Nanoseconds seen = 0;
        for (const BusyTime* track : row.tracks)
            seen += track->before(window.end) - track->before(window.begin);
        card.row(0, "in view", share_text(seen, window.length(), row.of));
        card.row(0, "in total", length_text(AxisUnit::time, row.total()));
    }

    static std::string share_text(Nanoseconds busy, Nanoseconds length, std::size_t of) {
        const double share = static_cast<double>(busy) / static_cast<double>(length) /
                             static_cast<double>(std::max<std::size_t>(of, 1));
        return fmt::format("{}, {:.1f} %", length_text(AxisUnit::time, busy), 100 * share);
    }

    std::shared_ptr<const TierTracks> tracks_;
    std::vector<WorkRow> rows_;
    std::vector<Nanoseconds> busy_;
};

}  // namespace

std::unique_ptr<Track> work_track() {
    return std::make_unique<WorkTrack>();
}

}  // namespace tidemark::viz
