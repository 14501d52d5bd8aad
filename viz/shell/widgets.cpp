// Widgets: see the header.
#include "viz/shell/widgets.h"

#include <algorithm>
#include <cmath>

#include "viz/draw/table.h"

namespace tidemark::viz {
namespace {

constexpr float kWidgetsPad = 10;  // points around a button's text
constexpr float kWidgetsLineGap = 3;

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
    return std::ceil(canvas.text_width(text) + 2 * canvas.px(kWidgetsPad));
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
    const float free = box.width() - tab_width(canvas, title, hint) + 2 * canvas.px(kWidgetsPad);
    float x = box.left + std::max(free / 2, 0.0F);
    const float top = box.top + (box.height() - canvas.line_height()) / 2;
    if (!hint.empty())
        x += canvas.text({x, top}, hint, theme.faint_text) + canvas.px(5);
    canvas.text({x, top}, title, is_on ? theme.text : mix(theme.faint_text, theme.text, 0.5));
    return pressed;
}

float tab_width(const Canvas& canvas, std::string_view title, std::string_view hint) {
    const float before = hint.empty() ? 0 : canvas.text_width(hint) + canvas.px(5);
    return std::ceil(before + canvas.text_width(title) + 2 * canvas.px(kWidgetsPad));
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
    const float step = canvas.line_height() + canvas.px(kWidgetsLineGap);
    const std::vector<std::string> lines = wrapped(canvas, text, width);
    for (std::size_t i = 0; i < lines.size(); ++i)
        canvas.text({at.x, at.y + step * static_cast<float>(i)}, lines[i], colour);
    return step * static_cast<float>(lines.size());
}

}  // namespace tidemark::viz
