// The figures of a live program: the current values in large, their growth below, at the right the
// switches to follow and to pause.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/fonts.h"
#include "viz/shell/shell_parts.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

constexpr float kLiveBarPad = 10;     // points
constexpr float kLiveBarMark = 3;     // points: the width of a figure's colour
constexpr float kLamp = 7;            // points
constexpr float kWidestFigure = 300;  // points

// One large figure.
struct NowFigure {
    std::string value;
    std::string name;
    std::string short_name;  // where there is no room for the other
    std::string growth;
    Colour mark = 0;
    Colour growth_colour = 0;
};

std::string bytes_a_minute(double rate) {
    const Bytes size = static_cast<Bytes>(std::abs(rate));
    return fmt::format("{}{}/min", rate < 0 ? "-" : "+", format_bytes(size));
}

// A number that is quick to read: "1.21 M", "212 k", "84".
std::string large_count(double count) {
    if (count >= 1e6)
        return fmt::format("{:.2f} M", count / 1e6);
    if (count >= 1e4)
        return fmt::format("{:.0f} k", count / 1e3);
    return format_count(static_cast<std::uint64_t>(std::max(count, 0.0)));
}

bool is_level(const facts::Slope& slope) {
    return slope.least <= 0 && slope.most >= 0;
}

class LiveBarWriter {
  public:
    LiveBarWriter(ShellParts& parts, Canvas& canvas) : parts_(parts), canvas_(canvas) {}

    std::vector<NowFigure> figures() const {
        const Theme& theme = canvas_.theme();
        std::vector<NowFigure> all;
        all.push_back(of_series(Series::reserved, "reserved", theme.reserved));
        all.push_back(of_series(Series::allocated, "allocated", theme.allocated));
        if (const auto free = parts_.growth.free())
            all.push_back(of_free(*free));
        all.push_back(of_events());
        return all;
    }

    // The figure within its column; its growth ends at `growth_right`.
    void draw(const NowFigure& figure, const Box& box, float growth_right) const {
        const Theme& theme = canvas_.theme();
        const float mark = std::round(canvas_.px(kLiveBarMark));
        if (figure.mark != 0)
            canvas_.fill({box.left, box.top, box.left + mark, box.bottom}, figure.mark);
        const float left = box.left + mark + canvas_.px(6);
        ImGui::PushFont(current_fonts().heading);
        const float high = canvas_.line_height();
        const float value = canvas_.text({left, box.top}, figure.value, theme.text);
        ImGui::PopFont();
        const float after = left + value + canvas_.px(6);
        const float line = canvas_.line_height();
        const bool fits = after + canvas_.text_width(figure.name) <= box.right;
        canvas_.text_within({after, box.top + (high - line) * 0.75F, box.right, box.top + high},
                            fits ? figure.name : figure.short_name, theme.faint_text);
        canvas_.text_within(
            {left, box.bottom - line, std::min(box.right, growth_right), box.bottom}, figure.growth,
            figure.growth_colour);
    }

    // The basis of the rates.
    std::string basis() const {
        const auto& growth = parts_.growth.growth();
        return growth ? "growth " + basis_text(*growth) : "growth: too early to say";
    }

  private:
    NowFigure of_series(Series series, std::string_view name, Colour mark) const {
        NowFigure figure;
        figure.value = format_bytes(parts_.growth.values()[series]);
        figure.name = figure.short_name = name;
        figure.mark = mark;
        const Theme& theme = canvas_.theme();
        figure.growth_colour = theme.faint_text;
        const auto& growth = parts_.growth.growth();
        if (!growth)
            return figure;
        const Growth& own = growth->of(series);
        if (is_level(own.per_minute)) {
            figure.growth = "no growth";
            return figure;
        }
        figure.growth = bytes_a_minute(own.per_minute.middle);
        figure.growth_colour = own.certain ? theme.warning : theme.text;
        return figure;
    }

    NowFigure of_free(Bytes free) const {
        NowFigure figure;
        const Theme& theme = canvas_.theme();
        figure.value = format_bytes(free);
        figure.name = fmt::format("free of {}", format_bytes(parts_.growth.capacity()));
        figure.short_name = "free";
        figure.mark = theme.border;
        figure.growth_colour = theme.faint_text;
        const auto& growth = parts_.growth.growth();
        if (!growth)
            return figure;
        const auto left = parts_.run()->live->alive ? parts_.growth.full_in() : std::nullopt;
        if (left) {
            figure.growth = "full " + to_text(*left);
            figure.growth_colour = theme.problem;
            return figure;
        }
        const Growth& reserved = growth->of(Series::reserved);
        figure.growth =
            is_level(reserved.per_minute) ? "steady" : bytes_a_minute(-reserved.per_minute.middle);
        return figure;
    }

    NowFigure of_events() const {
        NowFigure figure;
        const Theme& theme = canvas_.theme();
        figure.value = large_count(parts_.run()->live->events_per_second);
        figure.name = figure.short_name = "events/s";
        figure.mark = theme.accent;
        figure.growth_colour = theme.faint_text;
        const auto& growth = parts_.growth.growth();
        if (!growth || !parts_.run()->live->alive)
            return figure;
        const facts::Slope& slope = growth->events_per_second.per_minute;
        figure.growth = is_level(slope)
                            ? "steady"
                            : fmt::format("{}{}/s per min", slope.middle < 0 ? "-" : "+",
                                          large_count(std::abs(slope.middle)));
        return figure;
    }

    ShellParts& parts_;
    Canvas& canvas_;
};

// A switch with a lamp that is lit while it is on. Returns where it starts.
float lamp_switch(ShellParts& parts, Canvas& canvas, const Box& box, Action action, bool on) {
    const Theme& theme = canvas.theme();
    const std::string_view text = action == Action::follow ? "Follow" : on ? "Paused" : "Pause";
    const std::string_view widest = action == Action::follow ? "Follow" : "Paused";
    const float lamp = std::round(canvas.px(kLamp));
    const float gap = canvas.px(8);
    const float left = std::round(box.right - canvas.text_width(widest) - lamp - 3 * gap);
    const Box all{left, box.top, box.right, box.bottom};
    const std::string id(info_of(action).title);
    const Pressed pressed =
        button(canvas, all, id.c_str(), {}, on ? ButtonLook::on : ButtonLook::raised);
    if (on && !pressed.hovered)
        canvas.fill(all.inset(1), mix(theme.panel, theme.accent, 0.4));
    const float middle = std::round((box.top + box.bottom) / 2);
    const Box light{left + gap, middle - std::round(lamp / 2), left + gap + lamp,
                    middle - std::round(lamp / 2) + lamp};
    if (on)
        canvas.fill(light, action == Action::follow ? theme.better : theme.warning);
    else
        canvas.outline(light, theme.faint_text);
    canvas.text({light.right + gap, middle - std::round(canvas.line_height() / 2)}, text,
                theme.text);
    if (pressed.left && action == Action::follow && on)
        parts.camera.follow(false);
    else if (pressed.left)
        perform(parts, {action, 0});
    return left;
}

// The switches of a live program, or its end. Returns where they start.
float draw_live_state(ShellParts& parts, Canvas& canvas, const Box& box) {
    const Theme& theme = canvas.theme();
    const LiveState& live = *parts.run()->live;
    if (!live.alive) {
        ImGui::PushFont(current_fonts().heading);
        const float width =
            canvas.text({box.right, box.top}, live.died ? "killed, or crashed" : "has ended",
                        live.died ? theme.problem : theme.faint_text, Align::right);
        ImGui::PopFont();
        return box.right - width;
    }
    float left = box.right;
    if (parts.host.pause)
        left = lamp_switch(parts, canvas, {box.left, box.top, left, box.bottom}, Action::pause,
                           live.paused) -
               canvas.px(6);
    return lamp_switch(parts, canvas, {box.left, box.top, left, box.bottom}, Action::follow,
                       parts.camera.follows());
}

}  // namespace

void draw_live_bar(ShellParts& parts, Canvas& canvas, const Box& box) {
    const Theme& theme = canvas.theme();
    parts.growth.update(*parts.run(), parts.steps, parts.elapsed, parts.still);
    canvas.fill(box, theme.panel);
    canvas.horizontal(box.bottom - 1, box.left, box.right, theme.border);
    const float pad = std::round(canvas.px(kLiveBarPad));
    const Box inner{box.left + pad, box.top + std::round(canvas.px(5)), box.right - pad,
                    box.bottom - std::round(canvas.px(6))};
    const float line = canvas.line_height();
    const Box upper{inner.left, inner.top, inner.right, inner.bottom - line - canvas.px(3)};
    const LiveBarWriter writer(parts, canvas);
    const std::string basis = writer.basis();
    const float right = draw_live_state(parts, canvas, upper) - 2 * pad;
    const float growth_right = inner.right - canvas.text_width(basis) - 2 * pad;
    canvas.text({inner.right, inner.bottom - line}, basis, theme.faint_text, Align::right);
    const std::vector<NowFigure> figures = writer.figures();
    const float width = std::min((right - inner.left) / static_cast<float>(figures.size()),
                                 canvas.px(kWidestFigure));
    float left = inner.left;
    for (const NowFigure& figure : figures) {
        writer.draw(figure,
                    {std::round(left), inner.top, std::round(left + width) - pad, inner.bottom},
                    growth_right);
        left += width;
    }
}

}  // namespace tidemark::viz
