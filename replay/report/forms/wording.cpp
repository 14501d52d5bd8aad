// Cuts and cleans text by whole UTF-8 characters.
#include "replay/report/forms/wording.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/scenario/card_overhead.h"

namespace tidemark {
std::string one_line(std::string_view text, std::size_t most) {
    // A character has at most four bytes: the text far beyond needn't be looked at.
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

std::string others_text(Bytes overhead) {
    return overhead == kMeasuredOverhead ? "the CUDA context and libraries"
                                         : "others: CUDA contexts, libraries, other processes";
}

std::string card_text(Bytes memory, Bytes overhead) {
    if (overhead == 0)
        return format_bytes(memory);
    return fmt::format("{}, {} of them for {}", format_bytes(memory), format_bytes(overhead),
                       others_text(overhead));
}

std::string piece_text(Bytes piece, Bytes requested) {
    const std::string text = format_bytes(piece);
    if (piece >= requested || text != format_bytes(requested))
        return text;
    return fmt::format("{}, {} too small", text, format_bytes(requested - piece));
}

}  // namespace tidemark
