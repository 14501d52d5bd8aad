// What the mouse does to parts of a view.
#include "viz/draw/frame.h"

namespace tidemark::viz {

Press Frame::press(const Box& box, const char* id, std::size_t index) const {
    if (still || box.width() < 1 || box.height() < 1)
        return {};
    const ImVec2 kept = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos({box.left, box.top});
    ImGui::PushID(static_cast<int>(index));
    const bool clicked = ImGui::InvisibleButton(id, {box.width(), box.height()});
    const bool hovered = ImGui::IsItemHovered();
    ImGui::PopID();
    ImGui::SetCursorScreenPos(kept);
    return {clicked, hovered};
}

}  // namespace tidemark::viz
