// Tiers: one row a space with the bytes it holds relative to its capacity, and between GPUs, hosts
// and disks the moves: arrows down and up, as thick as the bytes are many, joined where they would
// be closer than an arrow is wide.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/views/timeline_plot.h"
#include "viz/views/track.h"

namespace tidemark::viz {
namespace {

constexpr float kSpaceHeight = 44;    // points
constexpr float kMovesHeight = 30;    // points
constexpr float kTierTrackCell = 24;  // points: two arrows side by side
constexpr float kWideCopy = 28;       // points: longer copies are drawn as bars, with their size
constexpr std::size_t kMostSpaces = 6;
constexpr double kTierTrackHeadroom = 1.12;

// Moves between two tiers: a row, if there are any.
struct PassageRow {
    Passage passage;
    Tier upper;
    Tier lower;
    std::string_view name;
};

constexpr PassageRow kPassageRows[] = {
    {Passage::gpu_host, Tier::gpu, Tier::host, "moves"},
    {Passage::gpu_disk, Tier::gpu, Tier::disk, "to disk"},
    {Passage::host_disk, Tier::host, Tier::disk, "moves"},
};

class TierTrack final : public Track {
  public:
    TrackRows prepare(Frame& frame, const TrackInput& input) override {
        rows_.clear();
        if (!input.run.tiers || !input.tiers)
            return {};
        const TierRun& run = *input.run.tiers;
        add_spaces(run, Tier::gpu);
        add_moves(*input.tiers, Passage::gpu_host);
        add_moves(*input.tiers, Passage::gpu_disk);
        add_spaces(run, Tier::host);
        add_moves(*input.tiers, Passage::host_disk);
        add_spaces(run, Tier::disk);
        TrackRows rows;
        for (const Row& row : rows_)
            rows.heights.push_back(height_of(frame.canvas, row));
        rows.usual = rows_.size();
        return rows;
    }

    void draw(Frame& frame, const TimeArea& area, const TrackInput& input, std::size_t index,
              const Box& box, std::optional<ImVec2> mouse, HoverCard& card) override {
        const Row& row = rows_[index];
        if (row.moves == nullptr)
            draw_space(frame, area, input, row.space, box, mouse, card);
        else
            draw_moves(frame, area, *input.tiers, *row.moves, box, mouse, card);
    }

  private:
    struct Row {
        std::size_t space = 0;
        const PassageRow* moves = nullptr;  // null: a space
    };

    struct Placed {
        Box box;
        MoveGroup group;
    };

    static float height_of(const Canvas& canvas, const Row& row) {
        return std::round(canvas.px(row.moves == nullptr ? kSpaceHeight : kMovesHeight));
    }

    // Spaces that ever held something; GPUs always.
    void add_spaces(const TierRun& run, Tier tier) {
        for (std::size_t space = 0; space < run.spaces.size(); ++space)
            if (run.spaces[space].space.tier == tier && rows_.size() < kMostSpaces &&
                (tier == Tier::gpu || run.spaces[space].peak > 0))
                rows_.push_back({space, nullptr});
    }

    void add_moves(const TierTracks& tracks, Passage passage) {
        if (tracks.moved(passage, Direction::down) + tracks.moved(passage, Direction::up) == 0)
            return;
        for (const PassageRow& row : kPassageRows)
            if (row.passage == passage)
                rows_.push_back({0, &row});
    }

    void draw_space(Frame& frame, const TimeArea& area, const TrackInput& input, std::size_t space,
                    const Box& row, std::optional<ImVec2> mouse, HoverCard& card) {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        const TierSpacePeak& facts = input.run.tiers->spaces[space];
        const Colour colour = colour_of(theme, facts.space.tier);
        const Box inner{row.left, row.top + canvas.px(3), row.right, row.bottom - 1};
        // Relative to the capacity, or to the peak where that is far below.
        const auto enough =
            static_cast<Bytes>(static_cast<double>(facts.peak) * kTierTrackHeadroom) + 1;
        const ByteScale scale{
            inner, std::min(std::max<Bytes>(facts.capacity, 1), enough * 2) == facts.capacity
                       ? facts.capacity
                       : enough};
        const Window& window = frame.camera.window();
        std::vector<LevelColumn> columns(area.columns());
        input.tiers->used(space).columns(window.begin, window.end, columns);
        draw_level_area(canvas, scale, columns, mix(theme.plot, colour, 0.75),
                        mix(theme.plot, colour, 0.40));
        if (input.tiers->reserved(space).size() > 1) {
            input.tiers->reserved(space).columns(window.begin, window.end, columns);
            draw_level_line(canvas, scale, columns, theme.reserved, std::round(canvas.px(2)));
        }
        canvas.horizontal(row.bottom - 1, row.left, row.right, theme.border);
        if (scale.top == facts.capacity)
            canvas.dashed_horizontal(inner.top, row.left, row.right, theme.faint_text);
        draw_space_labels(canvas, facts, row, scale.top == facts.capacity);
        if (mouse && row.contains(*mouse))
            describe_space(frame, area, input, space, mouse->x, card);
    }

    static void draw_space_labels(Canvas& canvas, const TierSpacePeak& facts, const Box& row,
                                  bool to_capacity) {
        const Theme& theme = canvas.theme();
        const float line = canvas.line_height();
        const float middle = (row.top + row.bottom) / 2;
        draw_track_name(canvas, {row.left, middle - line, row.right, middle}, to_text(facts.space));
        draw_track_name(canvas, {row.left, middle, row.right, middle + line},
                        format_bytes(to_capacity ? facts.capacity : facts.peak));
        if (!to_capacity)
            canvas.label({row.right - canvas.px(6), row.top + canvas.px(4)},
                         fmt::format("peak {} of {}", format_bytes(facts.peak),
                                     format_bytes(facts.capacity)),
                         theme.faint_text, Align::right);
    }

    static void describe_space(const Frame& frame, const TimeArea& area, const TrackInput& input,
                               std::size_t space, float x, HoverCard& card) {
        const Theme& theme = frame.canvas.theme();
        const TierSpacePeak& facts = input.run.tiers->spaces[space];
        const Position position = area.to_position(x);
        const Bytes used = input.tiers->used(space).at(position);
        const Bytes reserved = input.tiers->reserved(space).at(position);
        card.head(
            fmt::format("{} at {}", to_text(facts.space), position_label(frame, area, position)));
        card.row(colour_of(theme, facts.space.tier), "used", format_bytes(used));
        if (reserved > 0)
            card.row(theme.reserved, "of this, reserved but not allocated", format_bytes(reserved));
        card.row(0, "capacity", format_bytes(facts.capacity));
        card.row(0, "peak", format_bytes(facts.peak));
    }

    void draw_moves(Frame& frame, const TimeArea& area, const TierTracks& tracks,
                    const PassageRow& passage, const Box& row, std::optional<ImVec2> mouse,
                    HoverCard& card) {
        Canvas& canvas = frame.canvas;
        draw_track_name(canvas, row, passage.name);
        canvas.clip(row);
        std::vector<Placed> placed;
        for (const Direction direction : {Direction::down, Direction::up}) {
            const auto groups = tracks.moves(passage.passage, direction, frame.camera.window(),
                                             positions_of(frame, area, canvas.px(kTierTrackCell)));
            for (const MoveGroup& group : groups)
                placed.push_back(
                    {draw_group(frame, area, passage, direction, group, row, mouse, card), group});
        }
        draw_counts(canvas, std::move(placed), row);
        canvas.unclip();
    }

    // Next to the arrows that represent several moves, where there is room: how many, how much.
    static void draw_counts(Canvas& canvas, std::vector<Placed> placed, const Box& row) {
        std::sort(placed.begin(), placed.end(), [](const Placed& left, const Placed& right) {
            return left.box.left < right.box.left;
        });
        const float gap = canvas.px(6);
        for (std::size_t i = 0; i < placed.size(); ++i) {
            const MoveGroup& group = placed[i].group;
            const float left = placed[i].box.right + gap;
            const float room =
                (i + 1 < placed.size() ? placed[i + 1].box.left : row.right) - left - gap;
            const std::string text =
                fmt::format("{} moves, {}", format_count(group.count), format_bytes(group.bytes));
            if (group.count > 1 && canvas.text_width(text) <= room)
                canvas.text_within({left, row.top, left + room, row.bottom}, text,
                                   canvas.theme().faint_text);
        }
    }

    // Down arrows are in the left half of their cell, up arrows in the right. Returns its box.
    Box draw_group(Frame& frame, const TimeArea& area, const PassageRow& passage,
                   Direction direction, const MoveGroup& group, const Box& row,
                   std::optional<ImVec2> mouse, HoverCard& card) {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        const bool down = direction == Direction::down;
        const Colour colour = colour_of(theme, down ? passage.lower : passage.upper);
        const float left = area.to_x(group.begin);
        const float right = area.to_x(group.end);
        const float half = (row.height()) / 2;
        const Box track{row.left, down ? row.top : row.top + half, row.right,
                        down ? row.top + half : row.bottom};
        Box shape{};
        if (group.count == 1 && right - left >= canvas.px(kWideCopy)) {
            shape = {std::max(left, row.left), track.top + 1, std::min(right, row.right),
                     track.bottom - 1};
            canvas.fill(shape, mix(theme.plot, colour, 0.55));
            const std::string text =
                fmt::format("{} {}", down ? "v" : "^", format_bytes(group.bytes));
            if (canvas.text_width(text) + 4 <= shape.width())
                canvas.text_within(shape, text, theme.text, Align::centre);
        } else {
            shape = arrow(canvas, area, group, down, colour, row);
        }
        if (mouse && mouse->x >= shape.left && mouse->x < shape.right && mouse->y >= shape.top &&
            mouse->y < shape.bottom)
            describe_group(frame, area, passage, down, group, colour, card);
        return shape;
    }

    // A shaft whose width grows with the logarithm of the bytes, and a head. Returns its box.
    static Box arrow(Canvas& canvas, const TimeArea& area, const MoveGroup& group, bool down,
                     Colour colour, const Box& row) {
        const float cell = canvas.px(kTierTrackCell);
        const float begin = area.to_x(group.begin);
        const float centre = std::round(group.count == 1 ? begin : begin + cell * 0.25F) +
                             (down ? 0 : std::round(cell * 0.5F));
        const double doublings = std::log2(static_cast<double>(std::max<Bytes>(group.bytes, 1)));
        // From 1 KiB to 64 GiB.
        const double share = std::clamp((doublings - 10) / 26, 0.0, 1.0);
        const float thick = std::round(canvas.px(1 + 6 * static_cast<float>(share)));
        const float head = std::round(canvas.px(4) + thick / 2);
        const float tall = std::round(canvas.px(7));
        const float top = row.top + 2;
        const float bottom = row.bottom - 2;
        const float left = std::round(centre - thick / 2);
        if (down) {
            canvas.fill({left, top, left + thick, bottom - tall}, colour);
            canvas.triangle({centre - head, bottom - tall}, {centre + head, bottom - tall},
                            {centre, bottom}, colour);
        } else {
            canvas.fill({left, top + tall, left + thick, bottom}, colour);
            canvas.triangle({centre - head, top + tall}, {centre, top}, {centre + head, top + tall},
                            colour);
        }
        return {centre - head, top, centre + head, bottom};
    }

    static void describe_group(const Frame& frame, const TimeArea& area, const PassageRow& passage,
                               bool down, const MoveGroup& group, Colour colour, HoverCard& card) {
        const std::string way =
            fmt::format("{} to {}", to_text(down ? passage.upper : passage.lower),
                        to_text(down ? passage.lower : passage.upper));
        card.head(group.count == 1 ? fmt::format("a move, {}", way)
                                   : fmt::format("{} moves, {}", format_count(group.count), way));
        card.row(colour, "bytes", format_bytes(group.bytes));
        card.row(0, "from", position_label(frame, area, group.begin));
        card.row(0, "until", position_label(frame, area, group.end));
        card.row(0, "duration",
                 length_text(AxisUnit::time, std::max<Position>(group.end - group.begin, 0)));
    }

    std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<Track> tier_track() {
    return std::make_unique<TierTrack>();
}

}  // namespace tidemark::viz
