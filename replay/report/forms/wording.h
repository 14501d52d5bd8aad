// Single values as text: text from files made safe for a terminal, measurements in their units.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/printable.h"
#include "replay/scenario/scenario.h"

namespace tidemark {

// `text` for one line: printable, and at most `most` characters, then an ellipsis, since names in a
// trace may be of any length. O(most).
std::string one_line(std::string_view text, std::size_t most = 200);

// What the overhead of a card is for: "the CUDA context and libraries"; others too, if it isn't the
// usual one.
std::string others_text(Bytes overhead);

// "80.0 GiB, 768 MiB of them for the CUDA context and libraries": a card that was named.
std::string card_text(Bytes memory, Bytes overhead);

// "1.20 GiB". If a request doesn't fit into the piece although both have the same text, also how
// much is missing: "126 MiB, 12.0 KiB too small".
std::string piece_text(Bytes piece, Bytes requested);

// A measurement in its unit: "7.21 GiB", "12,345", "310 us", "4.1 %", "1.34".
std::string figure_text(const Measurement& measurement);

}  // namespace tidemark
