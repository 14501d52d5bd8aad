// Sets the focus.
#include "viz/shell/text_field.h"

#include <imgui.h>

namespace tidemark::viz {

void focus_next_field() {
    // ImGui 1.90 doesn't find a field in a window that had no focus.
    ImGui::SetWindowFocus();
    ImGui::SetKeyboardFocusHere();
}

}  // namespace tidemark::viz
