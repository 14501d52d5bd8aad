// Keys: what is pressed, independent of the window library, so that both a window's key codes and a
// test's script map to it (ImGui 1.86 has no names for most keys).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::viz {

enum class Key : std::uint8_t {
    // Letters and digits are their characters: 'a'..'z', '0'..'9', and so are '/', ',', '.', '-',
    // '=', '?'. The others:
    none = 0,
    tab = 128,
    enter,
    escape,
    space,
    backspace,
    remove,
    left,
    right,
    up,
    down,
    home,
    end,
    page_up,
    page_down,
    f1,
    f3,
};

// The key of a character: key('w').
constexpr Key key(char character) {
    return static_cast<Key>(character);
}

// A key with the modifiers that were held.
struct KeyPress {
    Key key = Key::none;
    bool control = false;
    bool shift = false;
    bool alt = false;

    friend bool operator==(const KeyPress&, const KeyPress&) = default;
};

// "Ctrl-Z", "Alt-Left", "W", "?": as key sheets print it.
std::string to_text(const KeyPress& press);

}  // namespace tidemark::viz
