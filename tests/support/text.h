// What tests of texts share.
#pragma once

#include <cstddef>
#include <string_view>

namespace tidemark::support {

// How often `part` is in `text`.
inline std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

}  // namespace tidemark::support
