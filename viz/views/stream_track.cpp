// What each stream allocates and frees, as density: allocations upwards, frees downwards, with
// frees that stay pending in a colour of their own. Bars grow with the root of the count, so that
// few are visible next to many. Only if there is more than one stream.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/timeline/stream_density.h"
#include "viz/model/timeline/timeline_columns.h"
#include "viz/views/track.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kStreamTrackUsualRows = 6;
constexpr float kStreamTrackRowHeight = 24;  // points
// This many events of a growing run are counted one by one before they are worth a job.
constexpr std::size_t kWorthAJob = StreamDensity::kExact / 2;

class StreamTrack final : public Track {
  public:
    TrackRows prepare(Frame& frame, const TrackInput& input) override {
        if (!input.run.history || input.run.history->streams().size() < 2 ||
            input.run.history->counts().events == 0)
            return {};
        follow(frame, input.run.history);
        const std::size_t rows =
            std::min(input.run.history->streams().size(), StreamDensity::kStreams);
        return {std::vector<float>(rows, std::round(frame.canvas.px(kStreamTrackRowHeight))),
                kStreamTrackUsualRows};
    }

    void draw(Frame& frame, const TimeArea& area, const TrackInput& input, std::size_t stream,
              const Box& row, std::optional<ImVec2> mouse, HoverCard& card) override {
        const History& history = *input.run.history;
        count(frame, area, history);
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        draw_track_name(canvas, row,
                        is_rest(history, stream) ? "others" : fmt::format("stream {}", stream));
        const float middle = std::round((row.top + row.bottom) / 2);
        const float half = middle - row.top - 2;
        canvas.horizontal(middle, row.left, row.right, theme.grid);
        if (!density_ && edges_.back() - edges_.front() > StreamDensity::kExact) {
            canvas.text({row.left + canvas.px(6), row.top + canvas.px(4)}, "counting",
                        theme.faint_text);
            return;
        }
        for (std::size_t i = 0; i + 1 < edges_.size(); ++i) {
            const StreamCounts& counts = counts_[i * streams_ + stream];
            const float x = area.box().left + static_cast<float>(i);
            bar(canvas, x, middle, -height_of(counts.allocations, half), theme.allocated);
            bar(canvas, x, middle + 1, height_of(counts.frees, half), theme.faint_text);
            bar(canvas, x, middle + 1, height_of(counts.waiting, half), theme.active);
        }
        if (mouse)
            describe(history, stream, mouse->x - area.box().left, canvas, card);
    }

    bool busy() const override { return job_.running(); }

  private:
    using Density = std::shared_ptr<const StreamDensity>;

    // Counts in a job, when there is enough that is new.
    void follow(const Frame& frame, const std::shared_ptr<const History>& history) {
        const std::size_t events = history->counts().events;
        if (auto made = job_.take(); made && *made)
            take(std::move(*made));
        if (history_ != history) {
            job_.cancel();
            density_ = nullptr;
            history_ = history;
        }
        const std::size_t counted = density_ ? density_->events() : 0;
        const bool grown = events > counted + (history->complete() ? 0 : kWorthAJob);
        if (!grown || job_.running())
            return;
        job_.start([history, events, known = density_](const Cancelled& cancelled) {
            return StreamDensity::build(*history, events, cancelled, known.get());
        });
        if (frame.still)
            if (auto made = job_.wait(); made && *made)
                take(std::move(*made));
    }

    void take(Density made) {
        density_ = std::move(made);
        window_ = {};  // what was counted by the old one
    }

    // The counts of each column, by stream; kept while the camera does not move.
    void count(const Frame& frame, const TimeArea& area, const History& history) {
        const std::size_t columns = area.columns();
        const Window& window = frame.camera.window();
        const std::size_t events = history.counts().events;
        if (window == window_ && edges_.size() == columns + 1 && events == events_ &&
            frame.camera.unit() == unit_)
            return;
        window_ = window;
        events_ = events;
        unit_ = frame.camera.unit();
        edges_.resize(columns + 1);
        for (std::size_t i = 0; i <= columns; ++i)
            edges_[i] =
                history.event_from(unit_, column_edge(window.begin, window.end, i, columns));
        streams_ = std::min(history.streams().size(), StreamDensity::kStreams);
        counts_.assign(columns * streams_, {});
        // Of events that the job has not reached, no more are counted than a frame has time for.
        const std::size_t known = (density_ ? density_->events() : 0) + StreamDensity::kExact;
        const auto within = [known](EventIndex event) {
            return static_cast<EventIndex>(std::min<std::size_t>(event, known));
        };
        const bool exact = edges_.back() - edges_.front() <= StreamDensity::kExact;
        most_ = 1;
        for (std::size_t i = 0; i < columns; ++i) {
            const std::span<StreamCounts> counts(&counts_[i * streams_], streams_);
            if (exact)
                StreamDensity::count(history, edges_[i], edges_[i + 1], counts);
            else if (density_)
                density_->between(history, within(edges_[i]), within(edges_[i + 1]), counts);
            for (const StreamCounts& each : counts)
                most_ = std::max({most_, each.allocations, each.frees});
        }
    }

    // The last row is for all further streams.
    static bool is_rest(const History& history, std::size_t row) {
        return row + 1 == StreamDensity::kStreams && history.streams().size() > row + 1;
    }

    float height_of(double count, float half) const {
        if (count < 0.5)
            return 0;
        return std::max(1.0F, std::round(half * static_cast<float>(std::sqrt(count / most_))));
    }

    static void bar(Canvas& canvas, float x, float from, float by, Colour colour) {
        if (by != 0)
            canvas.fill({x, std::min(from, from + by), x + 1, std::max(from, from + by)}, colour);
    }

    void describe(const History& history, std::size_t stream, float x, const Canvas& canvas,
                  HoverCard& card) const {
        const auto column = static_cast<std::size_t>(std::max(x, 0.0F));
        if (column + 1 >= edges_.size())
            return;
        const Theme& theme = canvas.theme();
        const StreamCounts& counts = counts_[column * streams_ + stream];
        const auto text = [](double count) {
            return format_count(static_cast<std::uint64_t>(std::llround(count)));
        };
        card.head(is_rest(history, stream)
                      ? fmt::format("{} other streams, in this pixel",
                                    format_count(history.streams().size() - stream))
                      : fmt::format("stream {} (handle {:#x}), in this pixel", stream,
                                    history.streams()[stream]));
        card.row(theme.allocated, "allocations", text(counts.allocations));
        card.row(theme.faint_text, "frees", text(counts.frees));
        card.row(theme.active, "of these, pending free", text(counts.waiting));
        if (edges_.back() - edges_.front() > StreamDensity::kExact)
            card.note("estimated from buckets: zoom in for exact counts");
        card.note("bars grow with the root of the count");
    }

    Job<Density> job_;
    Density density_;
    std::shared_ptr<const History> history_;
    std::size_t streams_ = 1;
    std::size_t events_ = 0;
    Window window_{0, 0};
    AxisUnit unit_ = AxisUnit::time;
    std::vector<EventIndex> edges_;
    std::vector<StreamCounts> counts_;
    double most_ = 1;
};

}  // namespace

std::unique_ptr<Track> stream_track() {
    return std::make_unique<StreamTrack>();
}

}  // namespace tidemark::viz
