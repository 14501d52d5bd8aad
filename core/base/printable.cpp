// Character by character, except for runs of plain ASCII.
#include "core/base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace tidemark {
namespace {

struct CodeRange {
    char32_t first;
    char32_t last;
};

// Characters without a visible shape beyond ASCII and Latin-1, in order.
constexpr std::array kShapeless = std::to_array<CodeRange>({
    {0x7f, 0x9f},        // controls
    {0xad, 0xad},        // soft hyphen
    {0x61c, 0x61c},      // direction
    {0x180e, 0x180e},    // without width
    {0x200b, 0x200f},    // without width, direction
    {0x2028, 0x202e},    // separators, direction
    {0x2060, 0x206f},    // without width, direction
    {0xfeff, 0xfeff},    // byte order mark
    {0xfff9, 0xfffb},    // of annotations
    {0xe0000, 0xe007f},  // tags
});

bool is_shapeless(char32_t code) {
    return code < 0x20 || std::ranges::any_of(kShapeless, [code](const CodeRange& range) {
               return code >= range.first && code <= range.last;
           });
}

bool is_plain(char letter) {
    return letter >= ' ' && letter <= '~';
}

char32_t code_of(std::string_view character) {
    auto code = static_cast<char32_t>(static_cast<unsigned char>(character[0]));
    if (character.size() > 1)
        code &= 0x7fU >> character.size();
    for (const char byte : character.substr(1))
        code = code << 6U | (static_cast<unsigned char>(byte) & 0x3fU);
    return code;
}

void put_escape(std::string& shown, char32_t code) {
    const auto number = static_cast<std::uint32_t>(code);
    if (code == '\n' || code == '\r' || code == '\t')
        shown += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
    else if (code < 0x100)
        fmt::format_to(std::back_inserter(shown), "\\x{:02x}", number);
    else if (code < 0x10000)
        fmt::format_to(std::back_inserter(shown), "\\u{:04x}", number);
    else
        fmt::format_to(std::back_inserter(shown), "\\U{:08x}", number);
}

void put_json_escape(std::string& shown, char32_t code) {
    const auto number = static_cast<std::uint32_t>(code);
    if (number >= 0x10000)  // in two halves
        fmt::format_to(std::back_inserter(shown), "\\u{:04x}\\u{:04x}",
                       0xd800 + ((number - 0x10000) >> 10U), 0xdc00 + (number & 0x3ffU));
    else
        fmt::format_to(std::back_inserter(shown), "\\u{:04x}", number);
}

// `text` with `put` for each invisible character and each byte that is not UTF-8.
std::string escaped_by(void (*put)(std::string&, char32_t), std::string_view text, bool lines) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const auto end = std::ranges::find_if_not(
            text, [lines](char letter) { return is_plain(letter) || (lines && letter == '\n'); });
        const auto plain = static_cast<std::size_t>(end - text.begin());
        shown += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty())
            break;
        const std::size_t length = utf8_length(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
        const char32_t code =
            length == 0 ? static_cast<unsigned char>(text[0]) : code_of(character);
        if (length == 0 || is_shapeless(code))
            put(shown, code);
        else
            shown += character;
        text.remove_prefix(character.size());
    }
    return shown;
}

// The length of a colour sequence at the start of `text`: ESC [ digits and semicolons m. 0 for
// anything else.
std::size_t colour_length(std::string_view text) {
    if (!text.starts_with("\x1b["))
        return 0;
    const std::size_t end = text.find_first_not_of("0123456789;", 2);
    return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
    if (text.empty())
        return 0;
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80)
        return 1;
    const std::size_t length = lead < 0xc2   ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || length > text.size())
        return 0;
    const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < least || byte(1) > most)
        return 0;
    for (std::size_t i = 2; i < length; ++i)
        if ((byte(i) & 0xc0U) != 0x80U)
            return 0;
    return length;
}

std::string printable(std::string_view text, bool lines) {
    return escaped_by(put_escape, text, lines);
}

std::string printable_json(std::string_view json) {
    return escaped_by(put_json_escape, json, true);
}

std::string printable_report(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const std::size_t colour = colour_length(text);
        shown += text.substr(0, colour);
        text.remove_prefix(colour);
        const std::size_t next = text.find('\x1b', colour == 0 ? 1 : 0);
        const std::string_view piece = text.substr(0, next);
        shown += printable(piece, true);
        text.remove_prefix(piece.size());
    }
    return shown;
}

}  // namespace tidemark
