// Keys as text, and back.
#include "viz/shell/keys.h"

#include <algorithm>
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

constexpr std::string_view kSigns = "0123456789/,.-=?";

char lower(char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

bool same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

std::string key_name(Key key) {
    for (const Name& name : kNames) {
        if (name.key == key)
            return std::string(name.name);
    }
    const auto character = static_cast<char>(key);
    return std::string(1, static_cast<char>(std::toupper(static_cast<unsigned char>(character))));
}

// Takes `word` off the front; false if it isn't there.
bool take(std::string_view& text, std::string_view word) {
    if (text.size() <= word.size() || !same_word(text.substr(0, word.size()), word))
        return false;
    text.remove_prefix(word.size());
    return true;
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

std::optional<KeyPress> parse_key(std::string_view text) {
    KeyPress press;
    for (bool found = true; found;) {
        found = false;
        if (take(text, "ctrl-"))
            found = press.control = true;
        if (take(text, "alt-"))
            found = press.alt = true;
        if (take(text, "shift-"))
            found = press.shift = true;
    }
    for (const Name& name : kNames) {
        if (same_word(name.name, text)) {
            press.key = name.key;
            return press;
        }
    }
    if (text.size() != 1)
        return std::nullopt;
    const char letter = lower(text.front());
    if ((letter < 'a' || letter > 'z') && kSigns.find(letter) == std::string_view::npos)
        return std::nullopt;
    press.key = key(letter);
    return press;
}

}  // namespace tidemark::viz
