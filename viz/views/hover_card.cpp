// Laying out a card.
#include "viz/views/hover_card.h"

#include <algorithm>
#include <cmath>

namespace tidemark::viz {
namespace {

constexpr float kHoverCardPad = 8;     // points
constexpr float kHoverCardSwatch = 9;  // points
constexpr float kHoverCardGap = 12;    // points between names and values
constexpr float kFromMouse = 16;       // points
constexpr float kWidest = 460;         // points
constexpr float kLineSpacing = 3;      // points

}  // namespace

Box card_box(ImVec2 mouse, ImVec2 size, float beside, const Box& room) {
    const auto within = [](float at, float length, float from, float to) {
        return std::round(std::max(from, std::min(at, to - length)));
    };
    const bool fits_right = mouse.x + beside + size.x <= room.right;
    const bool fits_left = mouse.x - beside - size.x >= room.left;
    float left = fits_right || !fits_left ? mouse.x + beside : mouse.x - beside - size.x;
    float top = mouse.y + beside;
    if (!fits_right && !fits_left && top + size.y > room.bottom)
        top = mouse.y - beside - size.y;
    left = within(left, size.x, room.left, room.right);
    top = within(top, size.y, room.top, room.bottom);
    return {left, top, left + size.x, top + size.y};
}

float HoverCard::width(const Canvas& canvas) const {
    float names = 0;
    float values = 0;
    float whole = 0;
    for (const Row& row : rows_) {
        if (row.heading) {
            whole = std::max(whole, canvas.text_width(row.name));
        } else if (row.name.empty()) {
            whole = std::max(whole, canvas.text_width(row.value));
        } else {
            names = std::max(names, canvas.text_width(row.name));
            values = std::max(values, canvas.text_width(row.value));
        }
    }
    const float table =
        names + values + canvas.px(kHoverCardGap + kHoverCardSwatch + kHoverCardPad);
    return std::min(std::max(whole, table), canvas.px(kWidest)) + 2 * canvas.px(kHoverCardPad);
}

void HoverCard::draw(const Canvas& view, ImVec2 mouse) const {
    if (rows_.empty())
        return;
    Canvas canvas = view.over_all();
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    const Box room{0, 0, size.x, size.y};
    const Theme& theme = canvas.theme();
    const float line = canvas.line_height() + canvas.px(kLineSpacing);
    const float wide = width(canvas);
    const float high = line * static_cast<float>(rows_.size()) + 2 * canvas.px(kHoverCardPad);
    const Box card = card_box(mouse, {wide, high}, canvas.px(kFromMouse), room);
    canvas.fill(card, theme.panel);
    canvas.outline(card, theme.border);
    const float pad = canvas.px(kHoverCardPad);
    float y = card.top + pad;
    for (const Row& row : rows_) {
        const Box inner{card.left + pad, y, card.right - pad, y + line};
        const float swatch = canvas.px(kHoverCardSwatch);
        if (row.heading) {
            canvas.text_within(inner, row.name, theme.text);
        } else if (row.name.empty()) {
            canvas.text_within(inner, row.value, theme.faint_text);
        } else {
            const float middle = y + canvas.line_height() / 2;
            if (row.colour != 0)
                canvas.fill(
                    {inner.left, middle - swatch / 2, inner.left + swatch, middle + swatch / 2},
                    row.colour);
            canvas.text({inner.left + swatch + pad, y}, row.name, theme.faint_text);
            const float names =
                canvas.text_width(row.name) + swatch + pad + canvas.px(kHoverCardGap);
            canvas.text_within({inner.left + names, y, inner.right, y + line}, row.value,
                               theme.text, Align::right);
        }
        y += line;
    }
}

std::string HoverCard::text() const {
    std::string text;
    for (const Row& row : rows_) {
        text += row.name;
        if (!row.name.empty() && !row.value.empty())
            text += '\t';
        text += row.value + '\n';
    }
    return text;
}

}  // namespace tidemark::viz
