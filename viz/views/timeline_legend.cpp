// Lays out a legend.
#include "viz/views/timeline_legend.h"

#include <algorithm>
#include <cmath>

namespace tidemark::viz {
namespace {

constexpr float kSign = 16;                 // points
constexpr float kWordGap = 6;               // points
constexpr float kEntryGap = 18;             // points
constexpr float kTimelineLegendRowPad = 5;  // points
constexpr auto kWidestValue = "1,000 GiB";

}  // namespace

TimelineLegend::TimelineLegend(const Canvas& canvas, std::vector<LegendEntry> entries, float width,
                               float beside) {
    const float line = std::round(canvas.line_height() + canvas.px(kTimelineLegendRowPad));
    const float value = canvas.text_width(kWidestValue);
    float x = 0;
    float y = 0;
    for (LegendEntry& entry : entries) {
        float wide = canvas.px(kSign + kWordGap) + canvas.text_width(entry.name);
        if (!entry.value.empty())
            wide += canvas.px(kWordGap) + std::max(value, canvas.text_width(entry.value));
        if (x > 0 && x + wide > width - (y < 2 * line ? beside : 0)) {
            x = 0;
            y += line;
        }
        slots_.push_back({std::move(entry), x, y, wide});
        x += wide + canvas.px(kEntryGap);
    }
    height_ = slots_.empty() ? 0 : y + line;
}

void TimelineLegend::draw_sign(Canvas& canvas, const Box& box, const LegendEntry& entry) {
    const Colour colour = entry.on ? entry.colour : mix(canvas.theme().panel, entry.colour, 0.35);
    const float middle = std::round((box.top + box.bottom) / 2);
    const float thick = std::round(canvas.px(2));
    switch (entry.look) {
        case CurveLook::line:
            canvas.fill({box.left, middle - thick / 2, box.right, middle + thick / 2}, colour);
            return;
        case CurveLook::area:
        case CurveLook::gap: {
            const float half = std::round(canvas.px(entry.look == CurveLook::area ? 5 : 4));
            const float inset = entry.look == CurveLook::area ? 0 : canvas.px(3);
            canvas.fill({box.left + inset, middle - half, box.right - inset, middle + half},
                        colour);
            if (entry.fill && entry.on)
                canvas.fill({box.left, middle - half + thick, box.right, middle + half},
                            *entry.fill);
            if (entry.look == CurveLook::gap)  // some are as dark as the ground
                canvas.outline({box.left + inset, middle - half, box.right - inset, middle + half},
                               canvas.theme().border);
            return;
        }
        case CurveLook::dots:
            for (float x = box.left; x < box.right - thick; x += 2 * thick)
                canvas.fill({x, middle - thick / 2, x + thick, middle + thick / 2}, colour);
            return;
    }
}

std::optional<std::size_t> TimelineLegend::draw(Frame& frame, const Box& box) const {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const float line = canvas.line_height();
    std::optional<std::size_t> clicked;
    for (const Slot& slot : slots_) {
        const float left = std::round(box.left + slot.x);
        const float top = std::round(box.top + slot.y);
        const float sign = canvas.px(kSign);
        draw_sign(canvas, {left, top, left + sign, top + line}, slot.entry);
        const Colour name = slot.entry.on ? theme.faint_text : theme.border;
        float x = left + sign + canvas.px(kWordGap);
        x += canvas.text({x, top}, slot.entry.name, name) + canvas.px(kWordGap);
        if (!slot.entry.value.empty())
            canvas.text({x, top}, slot.entry.value, slot.entry.on ? theme.text : theme.border);
        if (!slot.entry.toggles)
            continue;
        const Press press =
            frame.press({left, top, left + slot.width, top + line}, "legend", *slot.entry.toggles);
        if (press.clicked)
            clicked = slot.entry.toggles;
        if (press.hovered)
            canvas.horizontal(top + line, left, left + slot.width, theme.accent);
    }
    return clicked;
}

}  // namespace tidemark::viz
