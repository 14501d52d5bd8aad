// Maps codes to keys.
#include "viz/app/window_keys.h"

#include <array>
#include <string_view>
#include <utility>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

namespace tidemark::viz {
namespace {

constexpr std::string_view kSigns = "/,.-=?";

constexpr std::array<std::pair<int, Key>, 17> kNamed = {{
    {GLFW_KEY_TAB, Key::tab},
    {GLFW_KEY_ENTER, Key::enter},
    {GLFW_KEY_KP_ENTER, Key::enter},
    {GLFW_KEY_ESCAPE, Key::escape},
    {GLFW_KEY_SPACE, Key::space},
    {GLFW_KEY_BACKSPACE, Key::backspace},
    {GLFW_KEY_DELETE, Key::remove},
    {GLFW_KEY_LEFT, Key::left},
    {GLFW_KEY_RIGHT, Key::right},
    {GLFW_KEY_UP, Key::up},
    {GLFW_KEY_DOWN, Key::down},
    {GLFW_KEY_HOME, Key::home},
    {GLFW_KEY_END, Key::end},
    {GLFW_KEY_PAGE_UP, Key::page_up},
    {GLFW_KEY_PAGE_DOWN, Key::page_down},
    {GLFW_KEY_F1, Key::f1},
    {GLFW_KEY_F3, Key::f3},
}};

// The character printed on the key, if it is one; else the one of an American layout.
char character_of(int code, int scancode) {
    const char* const name = glfwGetKeyName(code, scancode);
    if (name != nullptr && name[0] != '\0' && name[1] == '\0' &&
        static_cast<unsigned char>(name[0]) < 0x80)
        return name[0];
    return code >= ' ' && code < 0x7f ? static_cast<char>(code) : '\0';
}

char lower(char character) {
    return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a')
                                                : character;
}

}  // namespace

std::optional<KeyPress> pressed_key(int code, int scancode, int modifiers) {
    KeyPress press;
    press.control = (modifiers & GLFW_MOD_CONTROL) != 0;
    press.shift = (modifiers & GLFW_MOD_SHIFT) != 0;
    press.alt = (modifiers & GLFW_MOD_ALT) != 0;
    for (const auto& [known, name] : kNamed)
        if (known == code) {
            press.key = name;
            return press;
        }
    // Digits by their position: on some layouts they are typed with Shift.
    const bool digit = code >= GLFW_KEY_0 && code <= GLFW_KEY_9;
    const char character = digit ? static_cast<char>(code) : lower(character_of(code, scancode));
    const bool letter = character >= 'a' && character <= 'z';
    const bool sign = kSigns.find(character) != std::string_view::npos && character != '\0';
    // Signs are handled as they are typed, unless Ctrl or Alt keep them from being typed.
    if (!digit && !letter && !(sign && (press.control || press.alt)))
        return std::nullopt;
    press.key = key(character);
    return press;
}

std::optional<KeyPress> typed_key(unsigned sign) {
    if (sign >= 0x80 || kSigns.find(static_cast<char>(sign)) == std::string_view::npos)
        return std::nullopt;
    return KeyPress{key(static_cast<char>(sign)), false, false, false};
}

}  // namespace tidemark::viz
