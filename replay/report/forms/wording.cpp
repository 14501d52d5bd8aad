// Cuts and cleans text by whole UTF-8 characters.
#include "replay/report/forms/wording.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

// The length of the UTF-8 character that `text` begins with; 0 if it begins with none.
std::size_t character_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80    ? 1
                               : lead < 0xc2  ? 0
                               : lead < 0xe0  ? 2
                               : lead < 0xf0  ? 3
                               : lead <= 0xf4 ? 4
                                              : 0;
    if (length > text.size())
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U)
            return 0;
    return length;
}

bool is_control(std::string_view character) {
    const auto lead = static_cast<unsigned char>(character[0]);
    if (character.size() == 1)
        return lead < 0x20 || lead == 0x7f;
    return character.size() == 2 && lead == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

std::string printable(std::string_view text, bool lines) {
    std::string shown;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
        if (length == 0 || (is_control(character) && !(lines && character == "\n")))
            shown += '?';
        else
            shown += character;
        text.remove_prefix(character.size());
    }
    return shown;
}

std::string one_line(std::string_view text, std::size_t most) {
    // A character has at most four bytes: what lies far beyond needs no look.
    const bool cut = text.size() > 4 * most;
    std::string line = printable(cut ? text.substr(0, 4 * most) : text);
    std::size_t characters = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const bool begins = (static_cast<unsigned char>(line[i]) & 0xc0U) != 0x80U;
        if (begins && ++characters > most) {
            line.resize(i);
            return line + "\u2026";
        }
    }
    return cut ? line + "\u2026" : line;
}

std::string figure_text(const Measurement& measurement) {
    switch (measurement.unit) {
        case Unit::bytes:
            return format_bytes(measurement.whole);
        case Unit::nanoseconds:
            return format_duration(static_cast<Nanoseconds>(measurement.whole));
        case Unit::count:
            return format_count(measurement.whole);
        case Unit::ratio:
            break;
    }
    if (measurement.name.ends_with("_ratio"))
        return fmt::format("{:.3f}", measurement.real);
    return format_percent(measurement.real);
}

std::string card_text(Bytes memory, Bytes overhead) {
    if (overhead == 0)
        return format_bytes(memory);
    return fmt::format("{}, {} of them for the CUDA context and libraries", format_bytes(memory),
                       format_bytes(overhead));
}

}  // namespace tidemark
