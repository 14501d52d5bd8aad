// Names to keys.
#include "viz/serve/browser_keys.h"

#include <array>
#include <utility>

namespace tidemark::viz {
namespace {

constexpr std::array<std::pair<std::string_view, Key>, 16> kNamedKeys = {{
    {"Tab", Key::tab},
    {"Enter", Key::enter},
    {"Escape", Key::escape},
    {" ", Key::space},
    {"Backspace", Key::backspace},
    {"Delete", Key::remove},
    {"ArrowLeft", Key::left},
    {"ArrowRight", Key::right},
    {"ArrowUp", Key::up},
    {"ArrowDown", Key::down},
    {"Home", Key::home},
    {"End", Key::end},
    {"PageUp", Key::page_up},
    {"PageDown", Key::page_down},
    {"F1", Key::f1},
    {"F3", Key::f3},
}};

constexpr std::string_view kSignKeys = "/,.-=?";
constexpr std::string_view kShiftedDigits = ")!@#$%^&*(";  // of an American layout

bool is_one_character(std::string_view text) {
    const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) >> 6U) == 2; };
    for (std::size_t i = 1; i < text.size(); ++i)
        if (!continues(text[i]))
            return false;
    return !text.empty();
}

}  // namespace

std::optional<KeyPress> press_of(const BrowserKey& event) {
    KeyPress press{Key::none, event.held.control, event.held.shift, event.held.alt};
    for (const auto& [name, named] : kNamedKeys)
        if (name == event.name) {
            press.key = named;
            return press;
        }
    if (event.name.size() != 1)
        return std::nullopt;
    char character = event.name.front();
    if (character >= 'A' && character <= 'Z')
        character = static_cast<char>(character - 'A' + 'a');
    const bool letter = character >= 'a' && character <= 'z';
    const bool digit = character >= '0' && character <= '9';
    if (const std::size_t shifted = kShiftedDigits.find(character);
        press.shift && shifted != std::string_view::npos)
        character = static_cast<char>('0' + shifted);
    else if (kSignKeys.find(character) != std::string_view::npos)
        press.shift = press.shift && (press.control || press.alt);  // it is in the sign already
    else if (!letter && !digit)
        return std::nullopt;
    press.key = key(character);
    return press;
}

std::string_view typed_text(const BrowserKey& event) {
    if (!event.down || !is_one_character(event.name))
        return {};
    // With both, a layout's third level: "@" on a German keyboard.
    const bool commands = event.held.control != event.held.alt;
    const auto first = static_cast<unsigned char>(event.name.front());
    return commands || first < ' ' || first == 0x7f ? std::string_view{} : event.name;
}

}  // namespace tidemark::viz
