// Widgets: see the header.
#include "viz/shell/widgets.h"

#include <algorithm>
#include <cmath>

namespace tidemark::viz {
namespace {

constexpr float kPad = 10;  // points beside a button's text
constexpr float kLineGap = 3;

Pressed take_press(const Box& box, const char* id) {
    ImGui::SetCursorScreenPos({box.left, box.top});
    ImGui::InvisibleButton(id, {std::max(box.width(), 1.0F), std::max(box.height(), 1.0F)},
                           ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
    Pressed pressed;
    pressed.hovered = ImGui::IsItemHovered();
    if (!ImGui::IsItemDeactivated() || !pressed.hovered)
        return pressed;
    const ImGuiIO& io = ImGui::GetIO();
    pressed.beneath = io.MouseReleased[1] || io.KeyCtrl || io.KeyShift;
    pressed.left = !pressed.beneath;
    return pressed;
}

}  // namespace

Pressed button(Canvas& canvas, const Box& box, const char* id, std::string_view text,
               ButtonLook look) {
    const Theme& theme = canvas.theme();
    if (look == ButtonLook::disabled) {
        canvas.text_within(box, text, mix(theme.panel, theme.faint_text, 0.7), Align::centre);
        return {};
    }
    const Pressed pressed = take_press(box, id);
    const Colour raised = mix(theme.panel, theme.accent, 0.18);
    if (pressed.hovered)
        canvas.fill(box, mix(theme.panel, theme.accent, 0.30));
    else if (look != ButtonLook::plain)
        canvas.fill(box, raised);
    if (look == ButtonLook::on)
        canvas.outline(box, theme.accent);
    canvas.text_within(box.inset(canvas.px(2)), text, theme.text, Align::centre);
    return pressed;
}

float button_width(const Canvas& canvas, std::string_view text) {
    return std::ceil(canvas.text_width(text) + 2 * canvas.px(kPad));
}

Pressed tab(Canvas& canvas, const Box& box, const char* id, std::string_view title,
            std::string_view hint, bool is_on) {
    const Theme& theme = canvas.theme();
    const Pressed pressed = take_press(box, id);
    if (is_on)
        canvas.fill(box, mix(theme.panel, theme.accent, 0.16));
    else if (pressed.hovered)
        canvas.fill(box, mix(theme.panel, theme.text, 0.08));
    if (is_on)
        canvas.fill({box.left, box.bottom - canvas.px(2), box.right, box.bottom}, theme.accent);
    float x = box.left + canvas.px(kPad);
    const float top = box.top + (box.height() - canvas.line_height()) / 2;
    if (!hint.empty())
        x += canvas.text({x, top}, hint, theme.faint_text) + canvas.px(5);
    canvas.text({x, top}, title, is_on ? theme.text : mix(theme.faint_text, theme.text, 0.5));
    return pressed;
}

float tab_width(const Canvas& canvas, std::string_view title, std::string_view hint) {
    const float before = hint.empty() ? 0 : canvas.text_width(hint) + canvas.px(5);
    return std::ceil(before + canvas.text_width(title) + 2 * canvas.px(kPad));
}

void progress_bar(Canvas& canvas, const Box& box, double share) {
    const Theme& theme = canvas.theme();
    canvas.fill(box, mix(theme.panel, theme.text, 0.12));
    const auto part = static_cast<float>(std::clamp(share, 0.0, 1.0));
    canvas.fill({box.left, box.top, box.left + std::round(box.width() * part), box.bottom},
                theme.accent);
}

float splitter(const Box& grip, const char* id, bool is_vertical) {
    if (grip.width() < 1 || grip.height() < 1)
        return 0;
    ImGui::SetCursorScreenPos({grip.left, grip.top});
    ImGui::InvisibleButton(id, {grip.width(), grip.height()});
    if (ImGui::IsItemHovered() || ImGui::IsItemActive())
        ImGui::SetMouseCursor(is_vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    if (!ImGui::IsItemActive())
        return 0;
    const ImVec2 delta = ImGui::GetIO().MouseDelta;
    return is_vertical ? delta.x : delta.y;
}

float paragraph(Canvas& canvas, ImVec2 at, float width, std::string_view text, Colour colour) {
    const float step = canvas.line_height() + canvas.px(kLineGap);
    const float top = at.y;
    while (!text.empty()) {
        std::size_t end = 0;
        std::size_t broken = 0;  // the last place where the line may end
        while (end < text.size() && text[end] != '\n') {
            const std::size_t word = std::min(text.find_first_of(" \n", end + 1), text.size());
            if (broken > 0 && canvas.text_width(text.substr(0, word)) > width)
                break;
            broken = end = word;
        }
        const std::size_t length = broken > 0 ? broken : end;
        canvas.text_within({at.x, at.y, at.x + width, at.y + canvas.line_height()},
                           text.substr(0, length), colour);
        at.y += step;
        text.remove_prefix(length);
        if (!text.empty())
            text.remove_prefix(1);  // the blank or the line's end
    }
    return at.y - top;
}

}  // namespace tidemark::viz
