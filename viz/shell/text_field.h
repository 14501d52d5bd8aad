// TextField: a line that the user types.
#pragma once

#include <array>
#include <string_view>

namespace tidemark::viz {

struct TextField {
    std::array<char, 4096> text{};  // a path may be as long
    bool takes_focus = false;       // with the next frame
    bool has_focus = false;
    bool entered = false;  // Enter was pressed: taken once the frame's letters are in the text

    std::string_view view() const { return text.data(); }

    void set(std::string_view content) {
        text.fill(0);
        content.copy(text.data(), text.size() - 1);
    }
};

// The field that is drawn next gets what is typed.
void focus_next_field();

}  // namespace tidemark::viz
