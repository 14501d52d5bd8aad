// Minimap: the whole run in a strip, with the visible part as a box: dragging moves it, dragging
// its edges resizes it; a click elsewhere goes there.
#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "viz/draw/time_area.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/mark_positions.h"
#include "viz/views/hit_ticks.h"
#include "viz/views/tier_follower.h"
#include "viz/views/timeline_plot.h"

namespace tidemark::viz {
namespace {

constexpr float kEdge = 6;        // points: an edge's reach
constexpr float kMinimapPad = 3;  // points
constexpr float kTick = 5;        // points
constexpr float kHits = 4;        // points of height
constexpr std::size_t kMinimapMarksAFrame = 1U << 16U;
constexpr double kMinimapHeadroom = 1.05;

enum class Grip : std::uint8_t { none, begin, end, whole };

class Minimap final : public View {
  public:
    void draw(Frame& frame) override {
        const ViewedRun* const run = frame.session.shown(frame.selection.run);
        const Box across = plot_box(frame.canvas, frame.area);
        const float pad = std::round(frame.canvas.px(kMinimapPad));
        const Box box{across.left, std::round(frame.area.top) + pad, across.right,
                      std::round(frame.area.bottom) - pad};
        if (run == nullptr || box.height() < 4 || box.width() < 4)
            return;
        const Window shown = frame.camera.window();
        frame.canvas.fill(box, frame.canvas.theme().plot);
        draw_curve(frame, *run, box, shown);
        hits_.draw(
            frame,
            {box.left, box.bottom - std::round(frame.canvas.px(kHits)), box.right, box.bottom},
            {0, std::max<Position>(frame.camera.extent(), 1)});
        draw_measure(frame, box);
        draw_ticks(frame, *run, box);
        draw_window(frame, box, shown);
        if (!frame.still)
            take_mouse(frame, box);
    }

    bool busy() const override { return more_marks_ || tiers_.busy(); }

  private:
    // Pixels of a position in the whole run.
    static float to_x(const Frame& frame, const Box& box, Position position) {
        const double share = static_cast<double>(position) /
                             static_cast<double>(std::max<Position>(frame.camera.extent(), 1));
        return box.left +
               static_cast<float>(std::clamp(share, 0.0, 1.0) * static_cast<double>(box.width()));
    }

    static Position to_position(const Frame& frame, const Box& box, float x) {
        const double share = static_cast<double>((x - box.left) / box.width());
        return static_cast<Position>(share * static_cast<double>(frame.camera.extent()));
    }

    void draw_curve(Frame& frame, const ViewedRun& run, const Box& box, const Window& shown) {
        look(frame, run, static_cast<std::size_t>(box.width()));
        if (levels_.empty())
            return;
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        Bytes most = 1;
        for (const LevelColumn& level : outer_)
            most = std::max(most, level.max);
        for (const LevelColumn& level : levels_)
            most = std::max(most, level.max);
        const ByteScale scale{box,
                              static_cast<Bytes>(static_cast<double>(most) * kMinimapHeadroom)};
        // Parts outside of the window are fainter.
        const float left = std::floor(to_x(frame, box, shown.begin));
        const float right = std::max(std::ceil(to_x(frame, box, shown.end)), left + 2);
        const auto paint = [&](const Box& part, double share) {
            if (part.width() <= 0)
                return;
            canvas.clip(part);
            const Colour colour = mix(theme.plot, theme.used, share);
            draw_level_area(canvas, scale, levels_, colour, mix(theme.plot, colour, 0.6));
            if (!outer_.empty())
                draw_level_line(canvas, scale, outer_, mix(theme.plot, theme.reserved, share), 1);
            canvas.unclip();
        };
        paint({box.left, box.top, left, box.bottom}, 0.45);
        canvas.fill({left, box.top, right, box.bottom}, mix(theme.plot, theme.text, 0.07));
        if (const Box rest{box.left + static_cast<float>(levels_.size()), box.top, box.right,
                           box.bottom};
            run.history && run.history->complete() && rest.width() >= 1)
            canvas.hatch(rest, theme.plot, mix(theme.plot, theme.faint_text, 0.25));
        paint({left, box.top, right, box.bottom}, 1);
        paint({right, box.top, box.right, box.bottom}, 0.45);
    }

    // Columns of the whole run; requested again only when it has grown.
    void look(Frame& frame, const ViewedRun& run, std::size_t columns) {
        const Position end = std::max<Position>(frame.camera.extent(), 1);
        levels_.clear();
        outer_.clear();
        if (run.history && run.history->counts().events > 0) {
            const auto whole = columns_.look(run.history, frame.camera.unit(), {0, end}, columns);
            const Position ended = end_of_run(run, frame.camera.unit());
            for (const SeriesColumn& column :
                 whole.first(columns_before(ended, {0, end}, whole.size()))) {
                levels_.push_back({column.min[Series::allocated], column.max[Series::allocated],
                                   column.last[Series::allocated]});
                outer_.push_back({column.min[Series::reserved], column.max[Series::reserved],
                                  column.last[Series::reserved]});
            }
        } else if (const auto tracks = tiers_.look(run, frame.still); tracks) {
            levels_.resize(columns);
            tracks->held(Tier::gpu).columns(0, end, levels_);
        }
    }

    // Important marks from the top, findings from the bottom.
    void draw_ticks(Frame& frame, const ViewedRun& run, const Box& box) {
        if (!run.history)
            return;
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        more_marks_ =
            marks_.follow(run.history, frame.still ? ~std::size_t{0} >> 1U : kMinimapMarksAFrame);
        const Window whole{0, std::max<Position>(frame.camera.extent(), 1)};
        const Position cell =
            std::max<Position>(whole.end / static_cast<Position>(box.width()), 1) * 2;
        const float tick = std::round(canvas.px(kTick));
        const auto draw_kind = [&](MarkKind kind, Colour colour) {
            for (const MergedRange& range : marks_.ranges(kind, frame.camera.unit(), whole, cell)) {
                const float x = std::floor(to_x(frame, box, range.begin));
                canvas.fill({x, box.top, x + 2, box.top + tick}, colour);
            }
        };
        draw_kind(MarkKind::retry, theme.warning);
        draw_kind(MarkKind::lost, theme.warning);
        draw_kind(MarkKind::out_of_memory, theme.problem);
        const std::size_t events = run.history->counts().events;
        for (const Finding& finding : run.findings) {
            if (finding.event >= events)
                continue;
            const float x = std::floor(
                to_x(frame, box, run.history->position(frame.camera.unit(), finding.event)));
            canvas.triangle(
                {x - tick, box.bottom}, {x, box.bottom - tick}, {x + tick, box.bottom},
                finding.weight == Finding::Weight::problem ? theme.problem : theme.warning);
        }
    }

    // As in all views: a veil over it, so that the curves below stay visible.
    static void draw_measure(Frame& frame, const Box& box) {
        const auto& stretch = frame.selection.measure;
        if (!stretch)
            return;
        const float left = std::floor(to_x(frame, box, stretch->begin));
        const float right = std::max(std::ceil(to_x(frame, box, stretch->end)), left + 2);
        draw_measured_veil(frame.canvas, {left, box.top, right, box.bottom});
    }

    static void draw_window(Frame& frame, const Box& box, const Window& shown) {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        canvas.outline(box, theme.border);
        const float left = std::floor(to_x(frame, box, shown.begin));
        const float right = std::max(std::ceil(to_x(frame, box, shown.end)), left + 3);
        canvas.outline({left, box.top, right, box.bottom}, theme.accent, std::round(canvas.px(1)));
        // Grips, where there is room for them.
        if (right - left > canvas.px(4 * kEdge)) {
            const float middle = std::round((box.top + box.bottom) / 2);
            const float half = std::round(box.height() / 5);
            const float thick = std::round(canvas.px(3));
            canvas.fill({left, middle - half, left + thick, middle + half}, theme.accent);
            canvas.fill({right - thick, middle - half, right, middle + half}, theme.accent);
        }
        if (frame.selection.cursor)
            canvas.vertical(std::floor(to_x(frame, box, *frame.selection.cursor)), box.top,
                            box.bottom, theme.cursor);
    }

    void take_mouse(Frame& frame, const Box& box) {
        ImGui::SetCursorScreenPos({box.left - frame.canvas.px(kEdge), box.top});
        ImGui::InvisibleButton("minimap", {box.width() + 2 * frame.canvas.px(kEdge), box.height()});
        const ImGuiIO& io = ImGui::GetIO();
        const Grip over = grip_at(frame, box, io.MousePos.x);
        const bool hovered = ImGui::IsItemHovered();
        if ((hovered || grip_ != Grip::none) && (over == Grip::begin || over == Grip::end))
            ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
        const Position under = to_position(frame, box, io.MousePos.x);
        if (ImGui::IsItemActivated())
            grab(frame, over, under);
        if (ImGui::IsItemActive() && grip_ != Grip::none)
            drag(frame, under);
        if (ImGui::IsItemDeactivated())
            grip_ = Grip::none;
        if (hovered)
            frame.selection.point_at(
                std::clamp<Position>(under, 0, std::max<Position>(frame.camera.extent() - 1, 0)));
        if (hovered && io.MouseWheel != 0)
            frame.camera.zoom(io.MouseWheel > 0 ? 0.8 : 1.25, under);
    }

    static Grip grip_at(const Frame& frame, const Box& box, float x) {
        const Window& window = frame.camera.window();
        const float left = to_x(frame, box, window.begin);
        const float right = to_x(frame, box, window.end);
        const float reach = frame.canvas.px(kEdge);
        if (right - left > 3 * reach) {
            if (std::abs(x - left) <= reach)
                return Grip::begin;
            if (std::abs(x - right) <= reach)
                return Grip::end;
        }
        return x >= left - reach && x <= right + reach ? Grip::whole : Grip::none;
    }

    // Outside of the window: it moves to the pointer first.
    void grab(Frame& frame, Grip over, Position under) {
        if (over == Grip::none) {
            const Position half = frame.camera.window().length() / 2;
            frame.camera.show({under - half, under - half + frame.camera.window().length()});
            over = Grip::whole;
        }
        grip_ = over;
        grabbed_ = under;
        held_ = frame.camera.window();
    }

    void drag(Frame& frame, Position under) {
        const Position way = under - grabbed_;
        Window window = held_;
        switch (grip_) {
            case Grip::none:
                return;
            case Grip::begin:
                window.begin = std::min(window.begin + way, window.end - Camera::kShortest);
                break;
            case Grip::end:
                window.end = std::max(window.end + way, window.begin + Camera::kShortest);
                break;
            case Grip::whole:
                window.begin += way;
                window.end += way;
                break;
        }
        frame.camera.show(window);
    }

    TimelineColumns columns_;
    TierFollower tiers_;
    MarkPositions marks_;
    HitTicks hits_;
    std::vector<LevelColumn> levels_;
    std::vector<LevelColumn> outer_;
    bool more_marks_ = false;
    Grip grip_ = Grip::none;
    Position grabbed_ = 0;
    Window held_;
};

}  // namespace

ViewInfo minimap_view() {
    return {"minimap", "Minimap", "The whole run, and which part of it is shown.", Pane::strip,
            make_view<Minimap>};
}

}  // namespace tidemark::viz
