// Lays out a tip.
#include "viz/draw/tip.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tidemark::viz {
namespace {

constexpr float kTipPad = 8;          // points
constexpr float kTipSwatch = 9;       // points
constexpr float kTipNameGap = 5;      // points between a name and its value
constexpr float kTipFigureGap = 16;   // points between figures
constexpr float kTipFromMouse = 16;   // points
constexpr float kTipWidest = 720;     // points
constexpr float kTipLineSpacing = 3;  // points
constexpr std::string_view kTipMore = "\u2026";

float figure_width(const Canvas& canvas, const TipFigure& figure) {
    float width = canvas.text_width(figure.value);
    if (!figure.name.empty())
        width += canvas.text_width(figure.name) + canvas.px(kTipNameGap);
    if (figure.colour != 0)
        width += canvas.px(kTipSwatch + kTipNameGap);
    return width;
}

// How many figures fit, and their width.
struct TipLine {
    std::size_t count = 0;
    float width = 0;
    bool cut = false;
};

TipLine fit(const Canvas& canvas, std::span<const TipFigure> figures, float room) {
    TipLine line;
    const float more = canvas.px(kTipFigureGap) + canvas.text_width(kTipMore);
    for (const TipFigure& figure : figures) {
        const float gap = line.count > 0 ? canvas.px(kTipFigureGap) : 0;
        const float width = line.width + gap + figure_width(canvas, figure);
        const bool is_last = line.count + 1 == figures.size();
        if (width + (is_last ? 0 : more) > room && line.count > 0) {
            line.cut = true;
            line.width += more;
            return line;
        }
        line.width = std::min(width, room);
        ++line.count;
    }
    return line;
}

// Within `box`; returns where it ends.
float draw_figure(Canvas& canvas, const Box& box, const TipFigure& figure) {
    const Theme& theme = canvas.theme();
    float left = box.left;
    if (figure.colour != 0) {
        const float swatch = std::round(canvas.px(kTipSwatch));
        const float top = std::round(box.top + (canvas.line_height() - swatch) / 2);
        canvas.fill({left, top, left + swatch, top + swatch}, figure.colour);
        left += swatch + canvas.px(kTipNameGap);
    }
    if (!figure.name.empty()) {
        canvas.text_within({left, box.top, box.right, box.top + canvas.line_height()}, figure.name,
                           theme.faint_text);
        left += canvas.text_width(figure.name) + canvas.px(kTipNameGap);
    }
    canvas.text_within({left, box.top, box.right, box.top + canvas.line_height()}, figure.value,
                       figure.name.empty() ? theme.faint_text : theme.text);
    return left + canvas.text_width(figure.value);
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

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

Box draw_tip(const Canvas& view, ImVec2 mouse, std::string_view what,
             std::span<const TipFigure> figures) {
    Canvas canvas = view.over_all();
    const ImVec2 screen = ImGui::GetIO().DisplaySize;
    const Theme& theme = canvas.theme();
    const float pad = std::round(canvas.px(kTipPad));
    const float end = view.tips_end() > mouse.x ? view.tips_end() : screen.x;
    const float most = std::min(canvas.px(kTipWidest), end - 2 * pad) - 2 * pad;
    const TipLine line = fit(canvas, figures, most);
    const std::vector<std::string_view> texts = lines_of(what);
    float wide = line.width;
    for (const std::string_view text : texts)
        wide = std::max(wide, canvas.text_width(text));
    wide = std::ceil(std::min(wide, most)) + 2 * pad + 1;
    const float high = std::round(canvas.line_height() + canvas.px(kTipLineSpacing));
    const float lines = static_cast<float>(texts.size()) + (figures.empty() ? 0.0F : 1.0F);
    const Box card = card_box(mouse, {wide, lines * high + 2 * pad - canvas.px(kTipLineSpacing)},
                              canvas.px(kTipFromMouse), {0, 0, end, screen.y});
    canvas.fill(card, theme.panel);
    canvas.outline(card, theme.border);
    Box rest = card.inset(pad);
    for (const std::string_view text : texts) {
        canvas.text_within({rest.left, rest.top, rest.right + 1, rest.top + high}, text,
                           theme.text);
        rest.top += high;
    }
    float left = rest.left;
    for (std::size_t i = 0; i < line.count; ++i)
        left = draw_figure(canvas, {left, rest.top, rest.right + 1, rest.bottom}, figures[i]) +
               canvas.px(kTipFigureGap);
    if (line.cut)
        canvas.text({left, rest.top}, kTipMore, theme.faint_text);
    return card;
}

void draw_tip(const Canvas& view, std::string_view what, std::string_view more) {
    const TipFigure sentence{0, {}, std::string(more)};
    draw_tip(view, ImGui::GetIO().MousePos, what,
             more.empty() ? std::span<const TipFigure>() : std::span(&sentence, 1));
}

}  // namespace tidemark::viz
