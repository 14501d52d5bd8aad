// Pools other than the default one as envelopes, by stream: the reserved memory of each as a line,
// the most that it has ever held at once as an area below it. Only if there are such pools.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "replay/timeline/block_classes.h"
#include "viz/model/memory/pool_envelopes.h"
#include "viz/model/session/async_query.h"
#include "viz/model/session/moment.h"
#include "viz/views/timeline_plot.h"
#include "viz/views/track.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kPoolTrackUsualRows = 4;
constexpr float kPoolTrackRowHeight = 34;  // points
constexpr double kPoolTrackHeadroom = 1.1;

class PoolTrack final : public Track {
  public:
    TrackRows prepare(Frame& frame, const TrackInput& input) override {
        if (!input.run.history || !has_private_pools(*input.run.history))
            return {};
        const PoolQuestion question{frame.camera.unit()};
        query_.ask(input.run.history, question, kNever - 1, work);
        if (frame.still)
            query_.finish();
        // Positions of another axis mean nothing here.
        const Answer* const answer = query_.answer();
        envelopes_ =
            answer != nullptr && answer->question == question ? &answer->envelopes : nullptr;
        const std::size_t rows = envelopes_ == nullptr ? 0 : envelopes_->size();
        return {std::vector<float>(rows, std::round(frame.canvas.px(kPoolTrackRowHeight))),
                kPoolTrackUsualRows};
    }

    void draw(Frame& frame, const TimeArea& area, const TrackInput& input, std::size_t row,
              const Box& box, std::optional<ImVec2> mouse, HoverCard& card) override {
        const History& history = *input.run.history;
        const PoolEnvelope& envelope = (*envelopes_)[row];
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        draw_track_name(canvas, box, fmt::format("pool {}", to_integer(envelope.pool)));
        canvas.fill(box, theme.plot);
        const AxisUnit unit = frame.camera.unit();
        const Window& window = frame.camera.window();
        const std::size_t columns = area.columns();
        const std::size_t until = columns_before(end_of_run(input.run, unit), window, columns);
        const ByteScale scale{box, top()};
        canvas.clip(box);
        levels_.resize(columns);
        envelope.high_water.columns(window.begin, window.end, levels_);
        draw_level_area(canvas, scale, std::span(levels_).first(until), theme.used, theme.used);
        envelope.reserved.columns(window.begin, window.end, levels_);
        draw_level_line(canvas, scale, std::span(levels_).first(until), theme.reserved,
                        std::round(canvas.px(2)));
        canvas.unclip();
        canvas.horizontal(box.bottom - 1, box.left, box.right, theme.grid);
        const Position last = history.end(unit) - 1;
        const std::string title = fmt::format(
            "{}, stream {}: {} reserved, high-water mark {}", pool_title(history, envelope.pool),
            to_integer(envelope.stream), format_bytes(most_reserved(envelope)),
            format_bytes(envelope.high_water.at(last)));
        if (canvas.text_width(title) + canvas.px(16) < box.width())
            canvas.label({box.left + canvas.px(6), box.top + canvas.px(3)}, title, theme.text);
        if (mouse)
            describe(frame, area, envelope, title, mouse->x, card);
    }

    bool busy() const override { return query_.running(); }

  private:
    struct Answer {
        PoolQuestion question;
        std::vector<PoolEnvelope> envelopes;
    };

    static Answer work(const History& history, const PoolQuestion& question,
                       const Cancelled& cancelled) {
        return {question, pool_envelopes(history, question, cancelled)};
    }

    static Bytes most_reserved(const PoolEnvelope& envelope) {
        return envelope.reserved.at(envelope.reserved.peak_time());
    }

    // One scale for all rows.
    Bytes top() const {
        Bytes most = 1024;
        for (const PoolEnvelope& envelope : *envelopes_)
            most = std::max(most, most_reserved(envelope));
        return static_cast<Bytes>(static_cast<double>(most) * kPoolTrackHeadroom);
    }

    static void describe(const Frame& frame, const TimeArea& area, const PoolEnvelope& envelope,
                         const std::string& title, float x, HoverCard& card) {
        const Theme& theme = frame.canvas.theme();
        const Position position = area.to_position(x);
        const Bytes reserved = envelope.reserved.at(position);
        const Bytes high = envelope.high_water.at(position);
        card.head(title);
        card.row(0, "at", position_label(frame, area, position));
        card.row(theme.reserved, "reserved", format_bytes(reserved));
        card.row(theme.used, "high-water mark so far", format_bytes(high));
        if (reserved > 0)
            card.row(0, "of it used at once at most",
                     format_share(std::min(high, reserved), reserved));
    }

    AsyncQuery<PoolQuestion, Answer> query_;
    const std::vector<PoolEnvelope>* envelopes_ = nullptr;
    std::vector<LevelColumn> levels_;
};

}  // namespace

std::unique_ptr<Track> pool_track() {
    return std::make_unique<PoolTrack>();
}

}  // namespace tidemark::viz
