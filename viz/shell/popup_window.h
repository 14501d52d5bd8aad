// A window over the others: what popups are drawn into. Private to viz/shell.
#pragma once

#include "viz/shell/shell_parts.h"

namespace tidemark::viz {

constexpr ImGuiWindowFlags kPopupFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                         ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav;

// A window over the others; a mouse press outside of it, or Esc, closes it.
template <class Content>
void popup_window(ShellParts& parts, const char* name, const Box& box, float scale,
                  Content content) {
    ImGui::SetNextWindowPos({box.left, box.top});
    ImGui::SetNextWindowSize({box.width(), box.height()});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2{0, 0});
    ImGui::Begin(name, nullptr,
                 kPopupFlags | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoScrollWithMouse);
    ImGui::PopStyleVar();
    Canvas canvas = parts.canvas(scale);
    canvas.fill(box, canvas.theme().panel);
    canvas.outline(box, canvas.theme().border);
    content(canvas);
    ImGui::End();
    const ImGuiIO& io = ImGui::GetIO();
    const bool is_beside = (io.MouseClicked[0] || io.MouseClicked[1]) && !box.contains(io.MousePos);
    // The menu's own button closes it by itself.
    if (is_beside && !(parts.popup == Popup::menu && io.MousePos.y < box.top))
        parts.popup = Popup::none;
}

}  // namespace tidemark::viz
