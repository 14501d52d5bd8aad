// Keys as text.
#include "viz/shell/keys.h"

#include <array>
#include <cctype>

namespace tidemark::viz {
namespace {

struct Name {
    Key key;
    std::string_view name;
};

constexpr std::array kNames = {
    Name{Key::tab, "Tab"},        Name{Key::enter, "Enter"},         Name{Key::escape, "Esc"},
    Name{Key::space, "Space"},    Name{Key::backspace, "Backspace"}, Name{Key::remove, "Del"},
    Name{Key::left, "Left"},      Name{Key::right, "Right"},         Name{Key::up, "Up"},
    Name{Key::down, "Down"},      Name{Key::home, "Home"},           Name{Key::end, "End"},
    Name{Key::page_up, "PageUp"}, Name{Key::page_down, "PageDown"},  Name{Key::f1, "F1"},
    Name{Key::f3, "F3"},
};

std::string key_name(Key key) {
    for (const Name& name : kNames) {
        if (name.key == key)
            return std::string(name.name);
    }
    const auto character = static_cast<char>(key);
    return std::string(1, static_cast<char>(std::toupper(static_cast<unsigned char>(character))));
}

}  // namespace

std::string to_text(const KeyPress& press) {
    std::string text;
    if (press.control)
        text += "Ctrl-";
    if (press.alt)
        text += "Alt-";
    if (press.shift)
        text += "Shift-";
    return press.key == Key::none ? "" : text + key_name(press.key);
}

}  // namespace tidemark::viz
